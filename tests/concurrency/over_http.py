"""What a worker asks for, for the members of a crew: without retries, and the answers as they came."""

from collections import Counter
from functools import cache
from typing import Any

import httpx


def claim(*, url: str, token: str, node_id: str) -> tuple[int, dict[str, Any]]:
    """Status and body of a claim by id."""
    return _post(f"{url}api/v1/nodes/{node_id}/claim/", token)


def claim_next(*, url: str, token: str) -> tuple[int, dict[str, Any]]:
    """Status and body of a claim where the server picks."""
    return _post(f"{url}api/v1/claims/", token)


def drain(*, url: str, token: str) -> Counter[int]:
    """Claim and report until nothing was free five times; how often each status was answered."""
    statuses: Counter[int] = Counter()
    while statuses[204] < 5:
        status, grant = claim_next(url=url, token=token)
        statuses[status] += 1
        if status == 201:
            right = {"lease": grant["lease"]["id"], "fence": grant["lease"]["fence"], "outcome": "done"}
            status, _ = _post(f"{url}api/v1/nodes/{grant['node']['id']}/report/", token, right)
            statuses[status] += 1
        elif status != 204:
            break
    return statuses


@cache
def _client() -> httpx.Client:
    """One a process, and one connection."""
    return httpx.Client(timeout=60.0, trust_env=False)


def _post(url: str, token: str, body: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
    answer = _client().post(url, json=body or {}, headers={"Authorization": f"Bearer {token}"})
    return answer.status_code, answer.json() if answer.content else {}

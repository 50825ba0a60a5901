"""Claims as a worker asks for them, for the members of a crew: one call, no retry, and the answer as it came."""

from functools import cache
from typing import Any

import httpx


def claim(*, url: str, token: str, node_id: str) -> tuple[int, dict[str, Any]]:
    """Status and body of a claim by id."""
    return _post(f"{url}api/v1/nodes/{node_id}/claim/", token)


def claim_next(*, url: str, token: str) -> tuple[int, dict[str, Any]]:
    """Status and body of a claim where the server picks."""
    return _post(f"{url}api/v1/claims/", token)


@cache
def _client() -> httpx.Client:
    """One a process, and one connection."""
    return httpx.Client(timeout=60.0, trust_env=False)


def _post(url: str, token: str) -> tuple[int, dict[str, Any]]:
    answer = _client().post(url, json={}, headers={"Authorization": f"Bearer {token}"})
    return answer.status_code, answer.json() if answer.content else {}

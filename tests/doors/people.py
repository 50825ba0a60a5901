"""Those who are signed in at the pages, and pages as words."""

import html
import re
from typing import Any

from django.contrib.auth.models import User
from django.test import Client

from leases.claim import Grant

HTMX = {"HX-Request": "true"}


def signed_in(name: str, *, lead: bool) -> Client:
    client = Client()
    client.force_login(User.objects.create_user(name, password="pw", is_staff=lead))
    return client


def words(markup: str) -> str:
    """The text without tags, in single spaces, none before a comma or a stop, with plain arrows."""
    text = html.unescape(re.sub(r"<[^>]+>", " ", markup)).replace("\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}", ">")
    return re.sub(r"\s+([.,:?](?:\s|$))", r"\1", re.sub(r"\s+", " ", text))


def shown(client: Client, path: str, **headers: str) -> str:
    """The page at this path as words; it must be there."""
    answer = client.get(path, headers=headers)
    assert answer.status_code == 200, answer.content
    return words(answer.content.decode())


def held(grant: Grant) -> dict[str, Any]:
    """What a worker shows to settle what it was granted."""
    return {"node_id": grant.node.id, "lease_id": grant.lease.id, "fence": grant.lease.fence}

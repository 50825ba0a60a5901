"""The page of the tokens: for leads alone; a secret is shown once and is nowhere after that."""

import logging
import re
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from graph.fields import from_micros
from leases.claim import claim
from leases.models import Role, Token
from leases.tokens import authenticate, create_token, revoke_token
from tasksite.dashboard import tokens
from tests.builders import make_plan, make_worker

pytestmark = pytest.mark.django_db

HTMX = {"HX-Request": "true"}
SECRET = re.compile(r"ts_[A-Za-z0-9_-]{43}")


@pytest.fixture
def lead(client: Client) -> Client:
    client.force_login(User.objects.create_user("ann", password="pw", is_staff=True))
    return client


def text(html: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def make(lead: Client, **given: Any) -> str:
    answer = lead.post("/tokens/", {"name": "worker-1", "role": "worker", "days": "", **given})
    assert answer.status_code == 200, text(answer.content.decode())
    return answer.content.decode()


def test_it_is_for_leads_alone(lead: Client) -> None:
    token, _ = create_token(name="w", role=Role.WORKER)
    watcher = Client()
    watcher.force_login(User.objects.create_user("sam", password="pw"))
    for path in ("/tokens/", f"/tokens/{token.id}/revoke/"):
        for answer in (watcher.get(path), watcher.post(path, {"name": "x", "role": "lead"})):
            assert answer.status_code == 403 and "for leads" in answer.content.decode()
        assert Client().get(path)["Location"] == f"/login/?next={path}"
        assert lead.put(path).status_code == 405
    assert "/tokens/" in lead.get("/").content.decode()
    assert "/tokens/" not in watcher.get("/").content.decode()
    assert [*Token.objects.values_list("name", "revoked_at")] == [("w", None)]


def test_a_token_is_made_and_works(lead: Client) -> None:
    shown = make(lead, name="night shift", role="lead", days="30")
    [secret] = SECRET.findall(shown)
    caller = authenticate(secret)
    assert caller is not None and (caller.name, caller.role) == ("night shift", "lead")
    assert "The token of night shift" in text(shown)
    days = Token.objects.values_list("expires_at", "created_at")
    assert [(end - start).days for end, start in days] == [30]


def test_the_secret_is_in_that_one_answer_and_nowhere_else(lead: Client, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    caplog.set_level(settings.LOGGING["loggers"]["django.template"]["level"], "django.template")
    answer = lead.post("/tokens/", {"name": "worker-1", "role": "worker"})
    [secret] = SECRET.findall(answer.content.decode())
    assert "no-store" in answer["Cache-Control"]
    for path in ("/tokens/", "/", "/admin/leases/token/", "/tokens/?before=7ZZZZZZZZZZZZZZZZZZZZZZZZZ"):
        assert secret not in lead.get(path).content.decode()
    assert [SECRET.findall(str(session.get_decoded())) for session in Session.objects.all()] == [[]]
    assert secret not in str(answer.cookies) + str(answer.headers)
    assert secret not in caplog.text and secret not in str(vars(cache))
    assert "ann made the token worker-1 for the role worker" in caplog.text


def test_sending_the_form_again_makes_no_second_one(lead: Client) -> None:
    make(lead)
    again = lead.post("/tokens/", {"name": "worker-1", "role": "worker"})
    assert again.status_code == 400 and not SECRET.findall(again.content.decode())
    assert "There is a token &#x27;worker-1&#x27; already; revoke it first." in again.content.decode()
    assert Token.objects.count() == 1


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": "x" * 101}, "name"),
        ({"name": "a\nb"}, "name"),
        ({"name": "\x1b[2J"}, "name"),
        ({"name": "\x00"}, "name"),
        ({"role": "admin"}, "role"),
        ({"role": ""}, "role"),
        ({"days": "0"}, "days"),
        ({"days": "x"}, "days"),
        ({"days": "9" * 30}, "days"),
    ],
)
def test_what_no_token_may_be_is_said_at_its_field(lead: Client, wrong: dict[str, str], field: str) -> None:
    answer = lead.post("/tokens/", {"name": "w", "role": "worker", **wrong})
    assert answer.status_code == 400
    assert re.findall(r'<p class="wrong" id="id_(\w+)_error"', answer.content.decode()) == [field]
    assert not Token.objects.exists()


def test_the_list_says_what_became_of_each(lead: Client) -> None:
    caller = make_worker("busy")
    ids = make_plan({"a": {"tasks": {"one": {}}}})
    claim(node_id=ids["a/one"], caller=caller)
    create_token(name="ended", role=Role.WORKER, days=1)
    create_token(name="until", role=Role.LEAD, days=30)
    create_token(name="gone", role=Role.WORKER)
    revoke_token(name="gone")
    Token.objects.filter(name="ended").update(expires_at=from_micros(1))
    html = lead.get("/tokens/").content.decode()
    lines = re.findall(r"<li>\s*<span class=\"name\">(.*?)</li>", html, re.DOTALL)
    said = {text(line).split()[0]: text(line) for line in lines}
    assert [*said] == ["gone", "until", "ended", "busy"]
    assert re.search(r"revoked 0 s ago$", said["gone"])
    assert re.search(r"lead made 0 s ago valid until \d{4}-\d\d-\d\d Revoke… until$", said["until"])
    assert "expired" in said["ended"] and "holds 1 claim valid" in said["busy"]


def test_names_are_escaped(lead: Client) -> None:
    create_token(name="<script>alert(1)</script>", role=Role.WORKER)
    token = Token.objects.get()
    for path in ("/tokens/", f"/tokens/{token.id}/revoke/"):
        shown = lead.get(path).content.decode()
        assert "&lt;script&gt;alert(1)" in shown and "<script>alert" not in shown


def test_revoking_asks_once_and_ends_it_at_once(lead: Client) -> None:
    token, secret = create_token(name="w", role=Role.WORKER)
    there = f"/tokens/{token.id.lower()}/revoke/"
    asked = text(lead.get(there).content.decode())
    assert "It ends at once, and there is no way back. It holds no claim now." in asked
    assert authenticate(secret) is not None
    done = lead.post(there, follow=True)
    assert done.redirect_chain == [("/tokens/", 302)] and "The token w is revoked." in done.content.decode()
    assert authenticate(secret) is None
    assert "It was revoked" in text(lead.get(there).content.decode())


def test_by_script_it_is_a_dialog_and_the_list_is_loaded_anew(lead: Client) -> None:
    token, _ = create_token(name="w", role=Role.WORKER)
    there = f"/tokens/{token.id}/revoke/"
    asked = lead.get(there, headers=HTMX).content.decode()
    assert f'hx-post="{there}"' in asked and "<html" not in asked
    assert lead.post(there, headers=HTMX)["HX-Redirect"] == "/tokens/"


def test_the_second_lead_never_ends_the_token_that_got_the_name_since(lead: Client) -> None:
    token, _ = create_token(name="w", role=Role.WORKER)
    revoke_token(name="w")
    _, secret = create_token(name="w", role=Role.WORKER)
    refused = lead.post(f"/tokens/{token.id}/revoke/")
    assert refused.status_code == 404 and "Nothing was changed." in refused.content.decode()
    assert lead.post(f"/tokens/{token.id}/revoke/", headers=HTMX).status_code == 200
    assert authenticate(secret) is not None
    assert lead.get("/tokens/01ARZ3NDEKTSV4RRFFQ69G5FAV/revoke/").status_code == 404


def test_long_lists_have_pages_and_cost_as_many_queries(lead: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def cost() -> int:
        with CaptureQueriesContext(connection) as queries:
            lead.get("/tokens/")
        return len(queries)

    create_token(name="w", role=Role.WORKER)
    few = cost()
    for number in range(5):
        create_token(name=f"w-{number}", role=Role.WORKER)
    assert cost() == few
    monkeypatch.setattr(tokens, "MOST", 4)
    shown = lead.get("/tokens/").content.decode()
    [older] = re.findall(r'href="(/tokens/\?before=\w+)"', shown)
    rest = lead.get(older).content.decode()
    assert re.findall(r'class="name">(.*?)<', shown + rest) == ["w-4", "w-3", "w-2", "w-1", "w-0", "w"]
    assert "before=" not in rest
    assert lead.get("/tokens/?before=x").status_code == 400
    assert "no token older than that" in text(lead.get("/tokens/?before=00000000000000000000000000").content.decode())


def test_the_pages_are_not_kept_by_browsers(lead: Client) -> None:
    script = Path("tasksite/static/tasksite/tokens-page.js").read_text()
    assert "pagehide" in script and "no-store" in lead.get("/tokens/")["Cache-Control"]

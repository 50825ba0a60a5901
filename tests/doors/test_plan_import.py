"""Import from a page: faults at their lines, the difference before it is applied, and nothing but what was shown."""

import json
import re
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from graph import editing
from graph.models import Event, Node, Plan
from graph.plan_file import Format
from leases import acts
from leases.claim import claim_next
from tasksite.dashboard import uploads
from tasksite.dashboard.excerpts import excerpts
from tests.builders import LEAD, make_worker
from tests.doors.test_dashboard import HTMX, text
from tests.graph.planning import document, load, node, states

pytestmark = pytest.mark.django_db

EVIL = "<script>alert(1)</script>"


@pytest.fixture
def lead(client: Client) -> Client:
    client.force_login(User.objects.create_user("ann", password="pw", is_staff=True))
    return client


def send(client: Client, *objectives: str, there: str = "/plans/import/", **fields: str) -> Any:
    return client.post(there, {"text": document(*objectives), **fields})


def offered(answer: Any) -> dict[str, str]:
    """What the button sends that applies what is shown."""
    html = answer.content.decode()
    found = dict(re.findall(r'name="(document|name|shown)" value="([^"]*)"', html))
    assert found.keys() >= {"document", "shown"}, text(html)
    return {name: unescape(value) for name, value in found.items()}


def words(answer: Any) -> str:
    return unescape(text(answer.content.decode()))


# Who may


def test_leads_alone_import(lead: Client) -> None:
    watcher = Client()
    watcher.force_login(User.objects.create_user("sam", password="pw"))
    for answer in (watcher.get("/plans/import/"), send(watcher, "{key: a}")):
        assert answer.status_code == 403
    assert Client().get("/plans/import/")["Location"] == "/login/?next=/plans/import/"
    assert lead.put("/plans/import/").status_code == 405
    assert 'href="/plans/import/"' in lead.get("/plans/").content.decode()
    assert "import/" not in watcher.get("/plans/").content.decode()
    assert lead.get("/plans/01ARZ3NDEKTSV4RRFFQ69G5FAV/import/").status_code == 404


def test_the_form_is_held_to_its_token() -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(User.objects.create_user("ann", password="pw", is_staff=True))
    assert send(strict, "{key: a}").status_code == 403
    token = re.search(r'csrfmiddlewaretoken" value="([^"]+)"', strict.get("/plans/import/").content.decode())
    assert token is not None
    assert send(strict, "{key: a}", csrfmiddlewaretoken=token[1]).status_code == 200


# Shown, then applied


def test_a_new_plan_is_shown_and_then_applied(lead: Client) -> None:
    shown = send(lead, "{key: a, tasks: [{key: one}, {key: two, needs: [one]}]}")
    told = words(shown)
    assert "p would be created: added 3, edges added 1." in told and "Nothing is written yet" in told
    assert "+ a/two needs a/one" in told and "Becoming ready 1 ◎ a/one" in told
    assert not Plan.objects.exists()
    done = lead.post("/plans/import/", offered(shown), follow=True)
    assert done.redirect_chain == [(f"/plans/{Plan.objects.get().id}/", 302)]
    assert "p created: added 3, edges added 1. 1 became ready." in words(done)
    assert Event.objects.get(type="plan.imported").actor == "ann"


def test_a_file_may_be_chosen_dropped_or_typed_in_either_format(lead: Client) -> None:
    plan = {"plan": "p", "objectives": [{"key": "a", "title": "é"}]}
    for name, data in (
        ("p.json", json.dumps(plan).encode()),
        ("p.yaml", document("{key: a}").encode()),
        ("p", json.dumps(plan, indent=1).encode()),
        ("p.yml", document("{key: a}").replace("\n", "\r\n").encode()),
    ):
        shown = lead.post("/plans/import/", {"file": SimpleUploadedFile(name, data), "text": "not this"})
        assert "p would be created: added 1." in words(shown), name
        assert uploads._unpacked(offered(shown)["document"]) == data
    assert "Choose a file" in words(lead.post("/plans/import/", {"text": " \n"}))
    assert lead.post("/plans/import/", {"text": ""}).status_code == 400


def test_a_reimport_shows_all_kinds_of_differences(lead: Client) -> None:
    load("{key: a, tasks: [{key: one}, {key: two}]}", "{key: b, title: B, needs: [a]}", "{key: gone}", "{key: d}")
    editing.waive(edge_id=node("b").needs.get().id, caller=LEAD, reason="no need")
    there = f"/plans/{Plan.objects.get().id}/import/"
    wanted = ("{key: a, tasks: [{key: one, needs: [two]}, {key: two}]}", "{key: b, title: C}", "{key: d}", "{key: e}")
    kept = words(send(lead, *wanted, there=there))
    assert "Not in the file 1 = gone: not in the file, stays ready" in kept and "Pruned" not in kept
    told = words(shown := send(lead, *wanted, there=there, prune="1"))
    for line in (
        "Added 1 + e", "Changed 1 ~ b: title", "Edges added 1 + a/one needs a/two", "Edges removed 1 - b needs a",
        "Pruned 1 x gone: pruned", "Becoming ready 1 ◎ e", "Waiting again 1 ○ a/one",
    ):  # fmt: skip
        assert line in told, told
    before = states()
    lead.post(there, {**offered(shown), "prune": "1"})
    assert states() == {**before, "e": "ready", "gone": "cancelled", "a/one": "pending"}
    again = words(send(lead, *wanted, there=there, prune="1"))
    assert "p would stay as it is." in again and "Apply" not in again


def test_what_is_settled_is_listed_as_left_and_warnings_are_shown(lead: Client) -> None:
    load("{key: a, title: A}", "{key: b}")
    acts.cancel(node_id=node("a").id, caller=LEAD, reason="no")
    told = words(send(lead, "{key: a, title: other}", "{key: b, needs: [a, a]}"))
    assert "Left as they are 1 = a: cancelled, so these stay: title" in told
    assert "Warning:" in told and "needs a" in told


def test_what_is_applied_is_what_was_shown_or_nothing(lead: Client) -> None:
    load("{key: a, title: A}")
    shown = offered(send(lead, "{key: a, title: B}", "{key: new}"))
    load("{key: a, title: B}")  # somebody else was faster
    refused = lead.post("/plans/import/", shown)
    told = words(refused)
    assert "not what was shown to you any more" in told and "Added 1 + new" in told and "Changed" not in told
    assert set(states()) == {"a"}
    pruning = lead.post("/plans/import/", {**offered(refused), "prune": "1"}, follow=True)
    assert "p updated: added 1." in words(pruning)  # nothing to prune: the same difference


def test_the_carried_file_goes_before_what_stands_in_the_box(lead: Client) -> None:
    shown = offered(send(lead, "{key: a}"))
    lead.post("/plans/import/", {**shown, "text": document("{key: b}")})
    assert set(states()) == {"a"}
    assert lead.post("/plans/import/", {**shown, "document": "bm8="}).status_code == 400


def test_a_file_too_large_to_be_carried_is_sent_again(lead: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "CARRIED", 10)
    shown = send(lead, "{key: a}").content.decode()
    assert "sent again" in shown and 'name="document"' not in shown
    agreed = re.search(r'name="shown" value="(\w+)"', shown)
    assert agreed is not None
    assert "not what was shown" in words(send(lead, "{key: b}", shown=agreed[1]))
    assert send(lead, "{key: a}", shown=agreed[1]).status_code == 302


def test_a_file_of_another_plan_is_said(lead: Client) -> None:
    load("{key: a}")
    there = f"/plans/{Plan.objects.get().id}/import/"
    told = words(lead.post(there, {"text": document("{key: a}").replace("plan: p", "plan: q")}))
    assert "The file is of the plan q, not of p." in told and "q would be created" in told


# Refused


def test_faults_stand_at_their_lines_with_what_was_perhaps_meant(lead: Client) -> None:
    plan = document("{key: schema}", "{key: b, needs: [shcema]}", *(f"{{key: k{n}}}" for n in range(9)), "{key: 7}")
    refused = lead.post("/plans/import/", {"text": plan})
    assert refused.status_code == 400
    told = words(refused)
    assert "The plan file has 2 faults; nothing was imported." in told
    assert re.search(r"4 - {key: b, needs: \[shcema\]} .*Did you mean schema \?", told)
    assert re.search(r"14 - {key: 7} ", told)
    assert told.index("3 - {key: schema}") < told.index("Did you mean")
    assert "k5" not in told.partition("The file has faults")[2]  # nothing is wrong near it
    assert lead.post("/plans/import/", {"text": plan}, headers=HTMX).status_code == 200  # no error for a script


def test_faults_of_the_file_as_a_whole_need_no_line(lead: Client) -> None:
    assert "plan" in words(lead.post("/plans/import/", {"text": "plan: p"}))
    broken = SimpleUploadedFile("p.yaml", b"plan: p\nobjectives:\n- {key: \xff}\n")
    assert re.search(r"3 - {key: \ufffd} The file is not UTF-8", words(lead.post("/plans/import/", {"file": broken})))


def test_conflicts_name_the_nodes_in_the_way(lead: Client) -> None:
    load("{key: a, tasks: [{key: one}]}", "{key: b}")
    assert claim_next(caller=make_worker()) is not None
    refused = send(lead, "{key: b}", prune="1")
    assert refused.status_code == 409
    assert f'href="/nodes/{node("a/one").id}/">a/one</a>' in refused.content.decode()
    assert "a/one running would be pruned and is being worked on" in words(refused)
    assert "Nothing was changed." in words(refused)


def test_text_of_a_file_comes_out_escaped(lead: Client) -> None:
    for answer in (
        send(lead, f"{{key: '{EVIL}', title: x}}"),
        send(lead, f"{{key: a, title: '{EVIL}'}}"),
        lead.post("/plans/import/", {"file": SimpleUploadedFile(f"{EVIL}.yaml", document("{key: a}").encode())}),
    ):
        assert "<script>alert" not in answer.content.decode()


# Large


def test_a_request_that_is_too_large_is_not_read(lead: Client, settings: Any) -> None:
    settings.PLAN_MAX_BYTES = 1000
    over = SimpleUploadedFile("p.yaml", document("{key: a}").encode() + b"#" * 1000)
    assert "1,000 at most" in words(lead.post("/plans/import/", {"file": over}))
    far = SimpleUploadedFile("p.yaml", b"#" * (uploads.SLACK + 2000))
    refused = lead.post("/plans/import/", {"file": far})
    assert refused.status_code == 413 and "too large" in words(refused)
    long = lead.post("/plans/import/", {"text": "#" * 3_000_000})
    assert long.status_code == 413 and "choose it as a file" in words(long)


def test_the_answer_to_a_large_file_is_short(lead: Client) -> None:
    many = "".join(f"- {{key: k{n}, title: '{'x' * 400}'}}\n" for n in range(2000))
    with CaptureQueriesContext(connection) as queries:
        shown = lead.post(
            "/plans/import/", {"file": SimpleUploadedFile("p.yaml", f"plan: p\nobjectives:\n{many}".encode())}
        )
    assert "added 2,000" in words(shown) and "and 1,950 more" in words(shown)
    assert len(shown.content) < 100_000 and len(queries) < 20
    faulty = SimpleUploadedFile("p.yaml", f"plan: p\nobjectives:\n{many.replace('title', 'titel')}".encode())
    told = lead.post("/plans/import/", {"file": faulty})
    assert "and 1,950 more faults" in words(told) and len(told.content) < 200_000
    assert not Node.objects.exists()


def test_lines_are_numbered_as_the_reader_of_each_format_does() -> None:
    fault = {"line": 3, "message": "wrong"}
    for form, data in (
        (Format.YAML, b"a\rb\r\nc\nd"),
        (Format.YAML, "a\u2028b\x85c\nd".encode()),
        (Format.JSON, b"a\nb\nc\nd"),
    ):
        runs = excerpts(data, form, [fault])
        assert [(line.number, line.text) for line in runs[0]] == [(1, "a"), (2, "b"), (3, "c"), (4, "d")]
        assert [len(line.faults) for line in runs[0]] == [0, 0, 1, 0]
    assert excerpts(b"a\n" * 50, Format.JSON, [{"line": 1}, {"line": 40}])[1][0].number == 38
    assert excerpts(b"x" * 5000, Format.JSON, [{"line": 1}])[0][0].text == "x" * 159 + "…"

"""`manage.py status`: what an operator reads in a terminal, and the same as JSON."""

import json
import shlex
from io import StringIO

import pytest
from django.core.management import call_command

from leases import queries
from leases.claim import claim, claim_next
from tests.builders import make_plan, make_worker

pytestmark = pytest.mark.django_db


def run(*words: str) -> str:
    out = StringIO()
    call_command("status", *words, stdout=out)
    return out.getvalue()


def test_it_tells_live_from_stale_and_what_a_stale_claim_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    make_plan({"one": {}, "two": {}, "box": {"tasks": {"in": {}}}})
    worker = make_worker()
    claim_next(caller=worker, ttl_s=5, holder="w/1")
    claim_next(caller=worker, ttl_s=600, holder="w/2")
    monkeypatch.setattr("graph.clock.judged", lambda micros: micros + 100_000_000)
    text = run()
    lines = text.splitlines()
    assert lines[0].split()[:3] == ["leaves", "pending", "0"]
    assert "running 2" in lines[0]
    assert "ready 1" in lines[1]
    assert "live claims: 1" in text and "stale claims: 1" in text
    live = next(line for line in lines if "w/2" in line)
    assert "plan two" in live and "fence 1" in live and "age 100 s" in live
    stale = lines.index(next(line for line in lines if "w/1" in line))
    assert "expired" in lines[stale]
    assert lines[stale + 1].strip() == "manage.py abandon --reason TEXT -- plan one"


def test_json_is_what_the_api_answers() -> None:
    make_plan({"one": {}})
    claim_next(caller=make_worker())
    found = json.loads(run("--json"))
    assert found["counts"]["running"] == 1
    assert [lease["full_key"] for lease in found["live"]] == ["one"]
    assert found["stale"] == []


def test_the_act_can_be_pasted_whatever_the_plan_is_called() -> None:
    name = "it's; touch PWNED #"
    ids = make_plan({"a": {}}, name=name)
    claim(node_id=ids["a"], caller=make_worker(), ttl_s=5)
    lease = queries.open_lease(ids["a"])
    assert lease is not None
    words = shlex.split(queries.act(lease)["command"])
    assert words == ["manage.py", "abandon", "--reason", "TEXT", "--", name, "a"]

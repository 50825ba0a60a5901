"""A plan in a real browser: imported with a fault that is mended, shown before it is applied, and drawn as a graph."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from graph.models import Node, Plan
from leases.claim import claim
from tasksite.dashboard import drawing, uploads
from tests.browser import Visitor
from tests.builders import make_plan, make_worker, states
from tests.graph.planning import document, load
from tests.processes import until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.browser]

WHERE = """(key) => {
    const node = document.getElementById("graph")._cyreg.cy.nodes().filter((each) => each.data("key") === key);
    const box = node.renderedBoundingBox({ includeLabels: false });
    const frame = document.getElementById("graph").getBoundingClientRect();
    return [frame.x + (box.x1 + box.x2) / 2, frame.y + box.y1 + 8, node.data("label"), node.classes().join(" ")];
}"""


def drawn(page: Page) -> None:
    page.locator("#graph[data-drawn]").wait_for()


def box(page: Page, key: str) -> tuple[str, str]:
    """What stands in the box of a node, and its classes."""
    _, _, label, classes = page.evaluate(WHERE, key)
    return label, classes


def click(page: Page, key: str) -> None:
    """On the box of a node, near its top: in the middle of an open container lies what is in it."""
    page.locator("#graph").scroll_into_view_if_needed()
    x, y, *_ = page.evaluate(WHERE, key)
    page.mouse.click(x, y)


def keys(page: Page) -> list[str]:
    found: list[str] = page.evaluate(
        "document.getElementById('graph')._cyreg.cy.nodes().map((node) => node.data('key')).sort()"
    )
    return found


# Import


def drop(page: Page, name: str, text: str) -> None:
    """Drop a file onto the page, as far as a script can."""
    page.evaluate(
        """([name, text]) => {
            const carried = new DataTransfer();
            carried.items.add(new File([text], name, { type: "application/yaml" }));
            for (const what of ["dragover", "drop"]) {
                document.getElementById("drop").dispatchEvent(
                    new DragEvent(what, { bubbles: true, cancelable: true, dataTransfer: carried }));
            }
        }""",
        [name, text],
    )


def test_a_dropped_file_has_a_fault_which_is_mended_and_then_it_is_applied(arrive: Callable[..., Visitor]) -> None:
    person = arrive()
    page = person.page
    page.get_by_role("navigation").get_by_role("link", name="Plans").click()
    page.get_by_role("link", name="Import").click()
    page.wait_for_url("**/plans/import/")  # loaded, with the script that takes what is dropped
    text = document("{key: api, tasks: [{key: schema}, {key: endpoints, needs: [shcema]}]}", "{key: web}")
    drop(page, "p.yaml", text)
    fault = page.locator(".faulty")
    expect(fault).to_contain_text("needs: [shcema]")
    expect(fault).to_contain_text("Did you mean schema?")
    expect(page.locator("#answer-title")).to_be_focused()
    expect(page.get_by_label("Or its text")).to_have_value(text)
    assert not Plan.objects.exists()
    page.get_by_label("Or its text").fill(text.replace("shcema", "schema"))
    page.get_by_role("button", name="Show what would change").click()
    expect(page.locator("#answer")).to_contain_text("p would be created: added 4, edges added 1.")
    expect(page.locator("#answer")).to_contain_text("api/endpoints needs api/schema")
    assert not Plan.objects.exists()
    page.get_by_role("button", name="Apply").click()
    expect(page.get_by_role("heading", name="p", exact=True)).to_be_visible()
    expect(page.locator("#notices")).to_contain_text("p created: added 4, edges added 1. 2 became ready.")
    drawn(page)
    assert person.faults == []


@pytest.mark.parametrize("scripts", [True, False])
def test_a_difference_is_shown_and_applied_with_and_without_scripts(
    arrive: Callable[..., Visitor], tmp_path: Path, scripts: bool
) -> None:
    plan_id = load("{key: a, title: A}", "{key: b}").plan_id
    file = tmp_path / "p.yaml"
    file.write_text(document("{key: a, title: B}", "{key: c, needs: [a]}"))
    person = arrive(java_script_enabled=scripts)
    page = person.page
    page.goto(f"{person.url}/plans/{plan_id}/")
    page.get_by_role("link", name="Import again").click()
    page.get_by_label("Prune").check()
    page.get_by_label("Plan file").set_input_files(file)
    if not scripts:
        page.get_by_role("button", name="Show what would change").click()
    for line in ("+ c", "~ a: title", "+ c needs a", "x b: pruned"):
        expect(page.get_by_role("listitem").filter(has_text=line).first).to_be_visible()
    assert Node.objects.count() == 2
    page.get_by_role("button", name="Apply").click()
    expect(page.locator("#notices")).to_contain_text("p updated: added 1, changed 1, pruned 1, edges added 1.")
    assert dict(Node.objects.values_list("full_key", "state")) == {"a": "ready", "b": "cancelled", "c": "pending"}
    assert person.faults == []


def test_a_large_file_is_sent_again_and_a_plan_that_moved_on_is_said(
    arrive: Callable[..., Visitor], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads, "CARRIED", 10)
    load("{key: a, title: A}")
    file = tmp_path / "p.yaml"
    file.write_text(
        document(*(f"{{key: k{number}, body: {'x' * 50_000}}}" for number in range(6)), "{key: a, title: B}")
    )
    person = arrive()
    page = person.page
    page.goto(f"{person.url}/plans/import/")
    page.get_by_label("Plan file").set_input_files(file)
    expect(page.locator("#answer")).to_contain_text("added 6, changed 1")
    expect(page.get_by_label("Or its text")).to_have_value("")  # too large to be mended here
    load("{key: a, title: B}")
    page.get_by_role("button", name="Apply").click()
    expect(page.get_by_role("alert").filter(has_text="not what was shown to you")).to_be_visible()
    assert Node.objects.count() == 1
    page.get_by_role("button", name="Apply").click()
    expect(page.locator("#notices")).to_contain_text("p updated: added 6.")
    assert person.faults == []


# The graph


TREE: dict[str, Any] = {
    "a": {"tasks": {"one": {}, "two": {"needs": ["a/one"]}}},
    "b": {"needs": ["a"]},
}


def test_the_graph_is_drawn_live_and_leads_to_nodes(arrive: Callable[..., Visitor]) -> None:
    ids = make_plan(TREE)
    person = arrive("sam", lead=False)
    page = person.page
    page.goto(f"{person.url}/plans/{Plan.objects.get().id}/")
    drawn(page)
    assert keys(page) == ["a", "a/one", "a/two", "b"]
    assert page.locator("#graph").get_attribute("data-way") == "right"
    assert box(page, "a/one")[0] == "◎ one" and "pending" in box(page, "b")[1]
    claim(node_id=ids["a/one"], caller=make_worker())
    until(lambda: box(page, "a/one")[0] == "▶ one", "the graph shows the claim")
    assert "running" in box(page, "a/one")[1]
    click(page, "a/two")
    page.wait_for_url(f"**/nodes/{ids['a/two']}/")
    assert states(ids)["a/two"] == "pending" and person.faults == []


def test_a_long_chain_goes_downwards_and_stays_so(arrive: Callable[..., Visitor]) -> None:
    keyed = [f"o{number}" for number in range(9)]
    make_plan(
        {
            "a": {"tasks": {"one": {}}},
            **{key: {"needs": [before]} for before, key in zip(["a", *keyed], keyed, strict=False)},
        }
    )
    person = arrive()
    page = person.page
    for width in (390, 1440):
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(f"{person.url}/plans/{Plan.objects.get().id}/")
        drawn(page)
        assert page.locator("#graph").get_attribute("data-way") == "down"
        tops = [page.evaluate(WHERE, key)[1] for key in ("a", *keyed)]
        assert tops == sorted(set(tops))
    click(page, "a")
    until(lambda: len(keys(page)) == 10, "it is closed")
    assert page.locator("#graph").get_attribute("data-way") == "down"
    assert person.faults == []


def test_a_large_plan_opens_objective_by_objective(
    arrive: Callable[..., Visitor], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drawing, "WHOLE", 3)
    make_plan(TREE)
    person = arrive()
    page = person.page
    page.goto(f"{person.url}/plans/{Plan.objects.get().id}/")
    drawn(page)
    assert keys(page) == ["a", "b"] and box(page, "a")[0] == "◎ a 0/2"
    click(page, "a")
    until(lambda: keys(page) == ["a", "a/one", "a/two", "b"], "it is open")
    click(page, "a")
    until(lambda: keys(page) == ["a", "b"], "it is closed")
    assert person.faults == []


def test_a_search_narrows_the_table_and_lights_the_graph(arrive: Callable[..., Visitor]) -> None:
    make_plan(TREE)
    person = arrive()
    page = person.page
    page.goto(f"{person.url}/plans/{Plan.objects.get().id}/")
    drawn(page)
    page.get_by_label("Search in this plan").press_sequentially("TWO")
    expect(page.locator(".objectives tbody tr")).to_have_count(2)
    until(lambda: "hit" in box(page, "a/two")[1], "what was found is lit")
    assert "dim" in box(page, "b")[1]
    assert page.url.endswith("?q=TWO")
    page.get_by_role("link", name="show all").click()
    drawn(page)
    assert "dim" not in box(page, "b")[1] and person.faults == []


def test_the_graph_by_keyboard(arrive: Callable[..., Visitor]) -> None:
    make_plan(TREE)
    person = arrive()
    page = person.page
    page.goto(f"{person.url}/plans/{Plan.objects.get().id}/")
    drawn(page)
    zoom = "document.getElementById('graph')._cyreg.cy.zoom()"
    before = page.evaluate(zoom)
    page.locator("#graph").focus()
    page.keyboard.press("+")
    assert page.evaluate(zoom) > before
    page.keyboard.press("0")
    page.get_by_role("link", name="Open a").focus()
    page.keyboard.press("Enter")
    page.get_by_role("link", name="two", exact=True).focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/nodes/**")
    assert person.faults == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_plan_fits_a_phone(arrive: Callable[..., Visitor], scheme: str) -> None:
    make_plan(TREE)
    Node.objects.update(title="a rather long title " * 10)
    person = arrive(viewport={"width": 360, "height": 740}, color_scheme=scheme)
    page = person.page
    for path in ("/plans/", "/plans/import/", f"/plans/{Plan.objects.get().id}/"):
        page.goto(person.url + path)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, path
    drawn(page)
    assert person.faults == []

"""The sheet of keys, and the scripts that listen to them, name the same ones."""

import re
from typing import Final

import pytest
from django.test import Client

from tasksite.environment import ROOT

SCRIPT: Final = ROOT / "tasksite" / "static" / "tasksite" / "shortcuts.js"
NAMED: Final = {"Escape": "Esc", "ArrowDown": "↓", "ArrowUp": "↑"}


def handled() -> set[str]:
    text = SCRIPT.read_text(encoding="utf-8")
    table = re.search(r"const acts = \{(.*?)\n    \};", text, re.DOTALL)
    assert table is not None
    found = {quoted or bare for quoted, bare in re.findall(r'^ +(?:"(.)"|(\w+)):', table[1], re.MULTILINE)}
    found |= set(re.findall(r'event\.key === "(\w+)"', text))
    return {NAMED.get(key, key) for key in found}


@pytest.mark.parametrize("person", ["ann", "sam"])
def test_the_sheet_names_every_key_and_no_other(request: pytest.FixtureRequest, person: str) -> None:
    client: Client = request.getfixturevalue(person)
    page = client.get("/").content.decode()
    sheet = page.partition('<template id="keys">')[2].partition("</template>")[0]
    told = set(re.findall(r"<kbd>([^<]+)</kbd>", sheet))
    going = set(re.findall(r'data-go="(.)"', page))
    assert going == set(re.findall(r"<kbd>g</kbd> <kbd>(.)</kbd>", sheet))
    # Enter opens a link in every browser: no script listens to it.
    assert told == handled() | going | {"Enter"}

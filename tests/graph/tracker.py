"""A plan like those that issue trackers give: most objectives single leaves, a few with dozens of tasks.

Keys have dots, bodies are long Markdown with code, tables and emoji, edges run everywhere.
"""

import random
from pathlib import Path
from typing import Any, Final

import yaml

ROOT: Final = Path(__file__).parents[2]

BODY: Final = """\
## Why 🚧

The importer reads `%s` twice; see the *table*.

| step | cost | ok? |
| --- | ---: | :-: |
| parse | 12 ms | ✅ |
| write | 340 ms | ❌ |

```python
def once(path: str) -> dict[str, int]:
    return {"%%s": 1}  # "quoted", 'single', \\backslash
```

- [ ] naïve 日本語 test
\t- tab
"""


def tracker_plan(seed: int = 1) -> str:
    """Some 700 nodes and 350 edges, as YAML."""
    chance = random.Random(seed)
    objectives: list[dict[str, Any]] = []
    references: list[str] = []
    for number in range(340):
        key = f"bd-{number:x}{chance.choice(['', '.1', '-x', '_y'])}"
        objective = _item(key, chance)
        tasks = [_item(f"{key}.{task}", chance) for task in range(chance.choice([0] * 9 + [chance.randint(1, 24)]))]
        if tasks:
            objective["tasks"] = tasks
        for item in tasks:
            _need(item, references, chance)
        _need(objective, references, chance)
        references += [key, *(f"{key}/{item['key']}" for item in tasks)]
        objectives.append(objective)
    return yaml.dump({"plan": "tracker", "objectives": objectives}, sort_keys=False, allow_unicode=True)


def _item(key: str, chance: random.Random) -> dict[str, Any]:
    return {"key": key, "title": f"Fix {key}: it's “odd”, 100 %", "body": BODY % key * chance.randint(0, 3)}


def _need(item: dict[str, Any], references: list[str], chance: random.Random) -> None:
    count = min(len(references), chance.choice([0, 0, 0, 1, 1, 2]))
    if count:
        item["needs"] = chance.sample(references, count)


def texts() -> dict[str, str]:
    """The made plan, and a real one where a copy lies beside the repository."""
    found = {"made": tracker_plan()}
    real = ROOT.parent / "shared" / "plans" / "beads-700.yaml"
    if real.exists():
        found["real"] = real.read_text()
    return found

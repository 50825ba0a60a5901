"""Bad plan files, each with the faults that it must give: (code, path, line), all of them and no other.

Every file is at most 1 MiB. The doors are held against the same corpus.
"""

from typing import Final, NamedTuple

from graph.plan_file import Format

MIB: Final = 1 << 20

Expected = list[tuple[str, str, int | None]]


class BadPlan(NamedTuple):
    data: bytes
    faults: Expected
    form: Format = Format.YAML


def yaml(text: str | bytes, *faults: tuple[str, str, int | None]) -> BadPlan:
    return BadPlan(text.encode() if isinstance(text, str) else text, [*faults])


def json(text: str | bytes, *faults: tuple[str, str, int | None]) -> BadPlan:
    return BadPlan(text.encode() if isinstance(text, str) else text, [*faults], Format.JSON)


def one(objective: str) -> str:
    """A plan of one objective `a` with further lines, the first of them line 4."""
    return f"plan: p\nobjectives:\n- key: a\n{objective}"


def objectives(*items: str) -> str:
    """A plan of these objectives, each a flow mapping on a line of its own, the first on line 3."""
    return "plan: p\nobjectives:\n" + "".join(f"- {item}\n" for item in items)


SYNTAX: Final = {
    "empty file": yaml("", ("empty_plan", "", None)),
    "comments only": yaml("# nothing\n", ("empty_plan", "", None)),
    "a text": yaml("hello", ("wrong_type", "", 1)),
    "a list": yaml("- plan: p", ("wrong_type", "", 1)),
    "not UTF-8": yaml(b"plan: p\ntitle: \xff\n", ("not_utf8", "", 2)),
    "UTF-16": yaml("plan: p".encode("utf-16"), ("not_utf8", "", 1)),
    "cut off": yaml("plan: p\nobjectives: [{key: a", ("syntax", "", 3)),
    "tabs as indentation": yaml("plan: p\nobjectives:\n\t- key: a\n", ("syntax", "", 3)),
    "a control character": yaml("plan: p\nobjectives:\n- key: a\n  title: \x07\n", ("syntax", "", 4)),
    "an escaped control character": yaml(one('  title: "x\\a"\n'), ("control_character", "objectives[0].title", 4)),
    "an escaped NUL": yaml(one('  body: "x\\0"\n'), ("control_character", "objectives[0].body", 4)),
    "an escaped surrogate": yaml(one('  title: "\\ud800"\n'), ("syntax", "", 4)),
    "a tag": yaml(one("  title: !!str x\n"), ("tag", "", 4)),
    "a tag that would run code": yaml(
        one("  title: !!python/object/apply:os.system [id]\n"),
        ("tag", "", 4),
        ("wrong_type", "objectives[0].title", 4),
    ),
    "a tag directive": yaml("%TAG ! tag:x,1:\n---\nplan: p\n", ("tag", "", 1)),
    "an alias": yaml(one("  title: &t x\n  body: *t\n"), ("alias", "", 5)),
    "a recursive alias": yaml("plan: p\nobjectives: &o\n- key: a\n  tasks: *o\n", ("alias", "", 4)),
    "a merge key": yaml(one("  <<: {title: x}\n"), ("merge_key", "objectives[0].['<<']", 4)),
    "a second document": yaml(objectives("{key: a}") + "---\nplan: q\n", ("second_document", "", 4)),
    "a second document that is empty": yaml(objectives("{key: a}") + "---\n", ("second_document", "", 4)),
    "a field twice": yaml(one("  title: x\n  title: y\n"), ("duplicate_field", "objectives[0].title", 5)),
    "a list as the name of a field": yaml(one("  ? [x]\n  : y\n"), ("wrong_type", "objectives[0]", 4)),
    "JSON: nothing": json("", ("syntax", "", 1)),
    "JSON: null": json("null", ("empty_plan", "", None)),
    "JSON: NaN": json('{"plan": NaN}', ("syntax", "", 1)),
    "JSON: Infinity": json('{\n"plan": -Infinity}', ("syntax", "", 2)),
    "JSON: a comma too many": json('{"plan": "p",\n}', ("syntax", "", 2)),
    "JSON: a comment": json('{"plan": "p" /* x */}', ("syntax", "", 1)),
    "JSON: single quotes": json("{'plan': 'p'}", ("syntax", "", 1)),
    "JSON: two values": json('{"plan": "p", "objectives": [{"key": "a"}]}\n{}', ("syntax", "", 2)),
    "JSON: a line break in a text": json('{"plan": "p\n"}', ("syntax", "", 1)),
    "JSON: a field twice": json(
        '{"plan": "p", "plan": "q", "objectives": [{"key": "a"}]}', ("duplicate_field", "plan", 1)
    ),
    "JSON: half a character": json(
        '{"plan": "p", "objectives": [{"key": "a", "title": "\\ud800"}]}',
        ("control_character", "objectives[0].title", 1),
    ),
    "JSON: half a character as a field": json(
        '{"plan": "p", "objectives": [{"key": "a", "\\udc00": 1}]}', ("unknown_field", "objectives[0].['\\udc00']", 1)
    ),
    "JSON: a huge number as a key": json(
        '{"plan": "p", "objectives": [{"key": ' + "9" * 100_000 + "}]}", ("key_not_text", "objectives[0].key", 1)
    ),
    "JSON: YAML": json("plan: p", ("syntax", "", 1)),
}

SHAPE: Final = {
    "no name": yaml("objectives: [{key: a}]\n", ("missing_field", "", 1)),
    "a number as the name": yaml("plan: 7\nobjectives: [{key: a}]\n", ("wrong_type", "plan", 1)),
    "a blank name": yaml("plan: ' '\nobjectives: [{key: a}]\n", ("blank", "plan", 1)),
    "a name of two lines": yaml('plan: "a\\nb"\nobjectives: [{key: a}]\n', ("bad_name", "plan", 1)),
    "a long name": yaml(f"plan: {'n' * 101}\nobjectives: [{{key: a}}]\n", ("over_limit", "plan", 1)),
    "no objectives": yaml("plan: p\n", ("empty_plan", "objectives", 1)),
    "empty objectives": yaml("plan: p\nobjectives:\n", ("empty_plan", "objectives", 1)),
    "a list of no objectives": yaml("plan: p\nobjectives: []\n", ("empty_plan", "objectives", 1)),
    "objectives that are a mapping": yaml("plan: p\nobjectives: {a: b}\n", ("wrong_type", "objectives", 2)),
    "an objective that is a text": yaml(objectives("a"), ("wrong_type", "objectives[0]", 3)),
    "an objective without a key": yaml(objectives("{title: x}"), ("missing_field", "objectives[0]", 3)),
    "a key that is a number": yaml(objectives("{key: 1.10}"), ("key_not_text", "objectives[0].key", 3)),
    "a key that is an octal number": yaml(objectives("{key: 010}"), ("key_not_text", "objectives[0].key", 3)),
    "a key that is a date": yaml(objectives("{key: 2026-03-01}"), ("key_not_text", "objectives[0].key", 3)),
    "a key that is a boolean": yaml(objectives("{key: no}"), ("key_not_text", "objectives[0].key", 3)),
    "a key that is nothing": yaml(objectives("{key: ~}"), ("wrong_type", "objectives[0].key", 3)),
    "a key with a space": yaml(objectives("{key: a b}"), ("bad_key", "objectives[0].key", 3)),
    "a key with a slash": yaml(objectives("{key: a/b}"), ("bad_key", "objectives[0].key", 3)),
    "a key with a letter beyond ASCII": yaml(objectives("{key: é}"), ("bad_key", "objectives[0].key", 3)),
    "a key with a digit beyond ASCII": yaml(objectives("{key: a٣}"), ("bad_key", "objectives[0].key", 3)),
    "a key that starts with a dot": yaml(objectives("{key: .a}"), ("bad_key", "objectives[0].key", 3)),
    "a key that ends in a newline": yaml(objectives('{key: "a\\n"}'), ("bad_key", "objectives[0].key", 3)),
    "a key of 101 characters": yaml(objectives(f"{{key: {'k' * 101}}}"), ("bad_key", "objectives[0].key", 3)),
    "a need that is a number": yaml(
        objectives("{key: '1.0'}", "{key: b, needs: [1.0]}"), ("key_not_text", "objectives[1].needs[0]", 4)
    ),
    "a title that is a number": yaml(one("  title: 5\n"), ("wrong_type", "objectives[0].title", 4)),
    "a title that is blank": yaml(one("  title: ''\n"), ("blank", "objectives[0].title", 4)),
    "a title of 501 characters": yaml(one(f"  title: {'t' * 501}\n"), ("over_limit", "objectives[0].title", 4)),
    "a body of 100,001 characters": yaml(one(f"  body: {'b' * 100_001}\n"), ("over_limit", "objectives[0].body", 4)),
    "a body that is a list": yaml(one("  body: [x]\n"), ("wrong_type", "objectives[0].body", 4)),
    "needs that are a text": yaml(one("  needs: b\n"), ("wrong_type", "objectives[0].needs", 4)),
    "a need that is a list": yaml(one("  needs: [[b]]\n"), ("wrong_type", "objectives[0].needs[0]", 4)),
    "a need without on": yaml(one("  needs: [{waived: why}]\n"), ("missing_field", "objectives[0].needs[0]", 4)),
    "a waiver without a reason": yaml(
        objectives("{key: a, needs: [{on: b, waived: ''}]}", "{key: b}"), ("blank", "objectives[0].needs[0].waived", 3)
    ),
    "a waiver that is a boolean": yaml(
        objectives("{key: a, needs: [{on: b, waived: true}]}", "{key: b}"),
        ("wrong_type", "objectives[0].needs[0].waived", 3),
    ),
    "an unknown field": yaml(one("  titel: x\n"), ("unknown_field", "objectives[0].titel", 4)),
    "an unknown field of the plan": yaml("version: 1\n" + objectives("{key: a}"), ("unknown_field", "version", 1)),
    "a clone of a task": yaml(
        one("  tasks:\n  - {key: t, clone: {repo: 'https://h/x'}}\n"),
        ("unknown_field", "objectives[0].tasks[0].clone", 5),
    ),
}

CLONES: Final = {
    f"clone from {repo}": yaml(one(f"  clone: {{repo: {repo!r}}}\n"), ("bad_clone", "objectives[0].clone.repo", 4))
    for repo in (
        "-x",
        "--upload-pack=touch /tmp/x",
        "ext::sh -c id",
        "fd::17",
        "http://example.org/x.git",
        "git://example.org/x.git",
        "file:///etc",
        "https://",
        "https://example.org",
        "https://user:secret@example.org/x.git",
        "https://token@example.org/x.git",
        "https://-oProxyCommand=id/x",
        "https://example.org/a b",
        "ssh://-oProxyCommand=id/x",
        "ssh://git@-oProxyCommand=id/x",
        "ssh://git:secret@example.org/x.git",
        "git@-oProxyCommand=id:x",
        "git@example.org:-x",
        "-git@example.org:x",
        "example.org:x.git",
        "/etc",
        "/srv/repos/../secret",
        "/srv/reposx",
        "//srv/repos",
        "../x",
        "x.git",
        "",
    )
} | {
    f"clone at {ref}": yaml(
        one(f"  clone: {{repo: 'https://example.org/x', ref: {ref!r}}}\n"), ("bad_clone", "objectives[0].clone.ref", 4)
    )
    for ref in ("-x", "--all", "a..b", "a b", "a:b", "a@{1}", "/a", "a/", "a//b", ".a", "a/.b", "a.lock", "a.", "@", "")
}

MEANING: Final = {
    "tasks eleven deep": yaml(
        objectives("{key: a, " + "".join(f"tasks: [{{key: t{depth}, " for depth in range(10)) + "}]" * 10 + "}"),
        ("over_limit", "objectives[0]" + ".tasks[0]" * 10, 3),
    ),
    "an unknown key": yaml(objectives("{key: a, needs: [b]}"), ("unknown_key", "objectives[0].needs[0]", 3)),
    "a bare key of another objective's task": yaml(
        objectives("{key: a, needs: [t]}", "{key: b, tasks: [{key: t}]}"), ("unknown_key", "objectives[0].needs[0]", 3)
    ),
    "an objective's bare key of its own task": yaml(
        objectives("{key: a, needs: [t], tasks: [{key: t}]}"), ("unknown_key", "objectives[0].needs[0]", 3)
    ),
    "a key of other case": yaml(
        objectives("{key: a, needs: [B]}", "{key: b}"), ("unknown_key", "objectives[0].needs[0]", 3)
    ),
    "a key with two slashes": yaml(
        objectives("{key: a, needs: [b/c/d]}", "{key: b, tasks: [{key: c, tasks: [{key: d}]}]}"),
        ("unknown_key", "objectives[0].needs[0]", 3),
    ),
    "an objective twice": yaml(objectives("{key: a}", "{key: a}"), ("duplicate_key", "objectives[1].key", 4)),
    "an objective twice, case aside": yaml(
        objectives("{key: ab}", "{key: aB}"), ("duplicate_key", "objectives[1].key", 4)
    ),
    "a task twice, at two depths": yaml(
        objectives("{key: a, tasks: [{key: t, tasks: [{key: u}]}, {key: U}]}"),
        ("duplicate_key", "objectives[0].tasks[1].key", 3),
    ),
    "an objective that needs itself": yaml(
        objectives("{key: a, needs: [a]}"), ("self_dependency", "objectives[0].needs[0]", 3)
    ),
    "a task that needs itself": yaml(
        objectives("{key: a, tasks: [{key: t, needs: [t, a/t]}]}"),
        ("self_dependency", "objectives[0].tasks[0].needs[0]", 3),
        ("self_dependency", "objectives[0].tasks[0].needs[1]", 3),
    ),
    "a cycle of two": yaml(
        objectives("{key: a, needs: [b]}", "{key: b, needs: [a]}"), ("cycle", "objectives[0].needs[0]", 3)
    ),
    "a cycle over a waived edge": yaml(
        objectives("{key: a, needs: [b]}", "{key: b, needs: [{on: a, waived: why}]}"),
        ("cycle", "objectives[0].needs[0]", 3),
    ),
    "a task that needs its ancestor": yaml(
        objectives("{key: a, tasks: [{key: t, tasks: [{key: u, needs: [a]}]}]}"),
        ("cycle", "objectives[0].tasks[0].tasks[0].needs[0]", 3),
    ),
    "a task of its objective's name that needs that objective": yaml(
        objectives("{key: a, tasks: [{key: a, needs: [a]}]}"), ("cycle", "objectives[0].tasks[0].needs[0]", 3)
    ),
    "a node that needs what is below it": yaml(
        objectives("{key: a, needs: [a/t], tasks: [{key: t}]}"), ("cycle", "objectives[0].needs[0]", 3)
    ),
    "two objectives that wait for parts of each other": yaml(
        objectives("{key: a, tasks: [{key: t, needs: [b]}]}", "{key: b, tasks: [{key: u, needs: [a]}]}"),
        ("cycle", "objectives[0].tasks[0].needs[0]", 3),
    ),
    "two cycles": yaml(
        objectives("{key: a, needs: [b]}", "{key: b, needs: [a]}", "{key: c, needs: [d]}", "{key: d, needs: [c]}"),
        ("cycle", "objectives[0].needs[0]", 3),
        ("cycle", "objectives[2].needs[0]", 5),
    ),
    "all at once": yaml(
        objectives("{key: 1, what: x}", "{key: a, needs: [a, b, c]}", "{key: A}", "{key: c, title: 5, needs: [a]}"),
        ("key_not_text", "objectives[0].key", 3),
        ("unknown_field", "objectives[0].what", 3),
        ("self_dependency", "objectives[1].needs[0]", 4),
        ("unknown_key", "objectives[1].needs[1]", 4),
        ("cycle", "objectives[1].needs[2]", 4),
        ("duplicate_key", "objectives[2].key", 5),
        ("wrong_type", "objectives[3].title", 6),
    ),
}


def _laughs() -> str:
    """Nine levels of ten aliases each: a billion of the first."""
    lines = ["plan: p", "l0: &l0 [lol]"]
    lines += [f"l{level}: &l{level} [{', '.join([f'*l{level - 1}'] * 10)}]" for level in range(1, 10)]
    return "\n".join(lines) + "\nobjectives: [{key: a}]\n"


_LIST: Final = ("wrong_type", "", 1)
_FIELD: Final = ("unknown_field", "a", 1)
_DEEP: Final = ("over_limit", "", 1)

BOMBS: Final = {
    "deep lists": yaml("- " * (MIB // 2), _LIST, _DEEP),
    "deep mappings": yaml("{a: " * (MIB // 4), _FIELD, _DEEP),
    "deep questions": yaml("? " * (MIB // 2), _LIST, _DEEP),
    "deep indentation": yaml("".join(f"{' ' * n}a:\n" for n in range(1400)), _FIELD, ("over_limit", "", 65)),
    "tag directives": yaml(b"".join(b"%%TAG !a%d! x:\n" % n for n in range(55_000)) + b"---\na: 1\n", ("tag", "", 1)),
    "JSON: deep lists": json("[" * MIB, _LIST, _DEEP),
    "JSON: deep mappings": json('{"a":' * (MIB // 5), _FIELD, _DEEP),
}
"""Small files that a careless reader takes long over."""

HEAVY: Final = {
    "deep flow lists": yaml("[" * MIB),  # libyaml has a limit of its own, or has none
    "a billion laughs": yaml(_laughs()),
    "unknown fields": yaml("plan: p\n" + "".join(f"f{n}: 1\n" for n in range(95_000))),
    "fields many times": yaml("plan: p\n" + "a: 1\n" * 200_000),
    "unknown keys": yaml(objectives(*(f"{{key: k{n}, needs: [m{n}]}}" for n in range(30_000)))),
    "duplicate keys": yaml(objectives(*["{key: a}"] * 90_000)),
    "many small cycles": yaml(objectives(*(f"{{key: k{n}, needs: [k{n ^ 1}]}}" for n in range(30_000)))),
    "one great cycle": yaml(objectives(*(f"{{key: k{n}, needs: [k{(n + 1) % 30_000}]}}" for n in range(30_000)))),
    "objectives that are texts": yaml("plan: p\nobjectives: [" + "a," * 500_000 + "]"),
    "a long key, everywhere": yaml(
        objectives(*(f"{{key: a, needs: [{'x' * 5_000}]}}" for n in range(200))),
    ),
    "JSON: unknown fields": json("{" + ",".join(f'"f{n}":1' for n in range(90_000)) + "}"),
}
"""More of these, of which nothing is judged but that they are refused, and at what cost."""

EXACT: Final = SYNTAX | SHAPE | CLONES | MEANING | BOMBS
CORPUS: Final = EXACT | HEAVY

LOCAL_ROOTS: Final = ("/srv/repos",)
"""The local paths that the corpus takes to be allowed."""

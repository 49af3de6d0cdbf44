"""Bad inputs by the hundred: hostile documents, numbers and cells, each at every place that reads such a thing.

The cases of ``test_bad_inputs.py`` were written one by one and name what their message must say; these are products of
lists, of which each must end in one message, exit code 2 and no harm.
"""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

Files = dict[str, str | bytes]
Attempt = tuple[str, list[str], Files]
"""What it is called, the words of the command, and the files that are there."""

RUN = ["run", "synthetic:20", "--agents", "10", "--steps", "1", "--out", "o"]
SCENARIO = """\
name: river
propositions: [{name: dam, text: The dam should be built.}]
sources: [{name: Gazette, credibility: 0.8}]
posts: posts.csv
"""
ROW = {"text": "It leaks.", "veracity": "false", "source": "Gazette", "stance:dam": "-0.5"}
DIGITS = "9" * 5000


def alias_bomb(levels: str = "abcdefghi") -> str:
    """A few hundred bytes that stand for nine to the power of nine words."""
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    for before, name in pairwise(levels):
        lines.append(f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]")
    return "\n".join(lines) + "\n"


YAML_DOCUMENTS: dict[str, str | bytes] = {
    "alias bomb": alias_bomb(),
    "merge key": "a: &a {b: 1}\nc:\n  <<: *a\n",
    "5,000 digits": f"a: {DIGITS}\n",
    "5,000 hexadecimal digits": f"a: 0x{DIGITS}\n",
    "a fraction of 5,000 digits": f"a: 0.{DIGITS}\n",
    "3,000 levels": "a: " + "[" * 3000,
    "100,000 levels": "a: " + "[" * 100_000,
    "100,000 mappings": "{a: " * 100_000,
    "3,000 levels by indentation": "".join(f"{' ' * k}a:\n" for k in range(3000)),
    "a tag": "a: !!python/object/apply:os.system [id]\n",
    "a local tag": "a: !x 1\n",
    "two documents": "a: 1\n---\nb: 2\n",
    "a key twice": "a: 1\na: 2\n",
    "a list as key": "[a, b]: 1\n",
    "a control character": "a: \x07\n",
    "an open quote": 'a: "b\n',
    "an open list": "a: [1, 2\n",
    "a tab": "a:\n\tb: 1\n",
    "only a word": "word\n",
    "a list of numbers": "[1, 2]\n",
    "a number": "7\n",
    "UTF-16": "a: 1\n".encode("utf-16"),
    "Latin-1": b"a: caf\xe9\n",
    "zeros": b"\x00" * 64,
}
YAML_READERS: dict[str, tuple[list[str], str, Files]] = {
    "configuration": (["run", "x.yaml", "--out", "o"], "x.yaml", {}),
    "scenario": (["run", "s", "--out", "o"], "s/scenario.yaml", {"s/posts.csv": "text\na\n"}),
    "prices": (
        ["forecast", "synthetic:20", "--set", "policy=llm", "--set", "model=fake", "--set", "serving.prices=x.yaml"],
        "x.yaml",
        {},
    ),
    "survey": (
        ["personas", "from-survey", "a.csv", "--mapping", "x.yaml", "--out", "p.jsonl"],
        "x.yaml",
        {"a.csv": "id,age\np1,30\n"},
    ),
    "record, inspected": (["inspect", "r"], "r/record.yaml", {}),
    "record, resumed": (["resume", "r"], "r/record.yaml", {}),
    "record, reported": (["report", "r"], "r/record.yaml", {}),
    "debate": (["debate", "x.yaml", "--out", "o"], "x.yaml", {}),
    "people": (["fit", "d", "--mapping", "x.yaml"], "x.yaml", {"d/people.csv": "a\n1\n"}),
}
JSON_DOCUMENTS: dict[str, str | bytes] = {
    "nothing": "",
    "cut off": '{"format": 1, "a": [',
    "100,000 lists": "[" * 100_000 + "]" * 100_000,
    "100,000 objects": '{"a":' * 100_000 + "1" + "}" * 100_000,
    "300 levels": '{"a":' * 300 + "1" + "}" * 300,
    "5,000 digits": f'{{"format": {DIGITS}}}',
    "a key twice": '{"format": 1, "format": 1}',
    "a number": "7",
    "a text": '"a"',
    "null": "null",
    "a list": "[1]",
    "an empty object": "{}",
    "another format": '{"format": 99}',
    "a format of text": '{"format": "1"}',
    "single quotes": "{'format': 1}",
    "UTF-16": "{}".encode("utf-16"),
    "zeros": b"\x00" * 64,
}
JSON_READERS: dict[str, tuple[list[str], str, Files]] = {
    "bundle": (["verify", "x.json"], "x.json", {}),
    "comparison, inspected": (["inspect", "e"], "e/experiment.json", {}),
    "comparison, reported": (["report", "e"], "e/experiment.json", {}),
    "multiverse": (["report", "e"], "e/multiverse.json", {}),
    "debates": (["report", "e"], "e/debates.json", {}),
    "posts": (["run", "x.jsonl", "--out", "o"], "x.jsonl", {}),
    "personas": ([*RUN, "--set", "population.file=x.jsonl"], "x.jsonl", {}),
    "golden": (["check", "golden", "x.jsonl"], "x.jsonl", {}),
}
VALUES = (
    f"0x{DIGITS}", DIGITS, f"-{DIGITS}", f"1e{DIGITS}", f".{DIGITS}", "1e999", ".nan", "-.inf", "2024-02-31", "yes",
    "'1'", "[1]", "{a: 1}", "-7", "--1", '"\\x00"',
)  # fmt: skip
SETTINGS = ("agents", "steps", "seed", "activation.rate", "feed.followed", "beliefs.pull", "feed.show_labels")
ENTRY: dict[str, Any] = {
    "state": "planned", "arm": "", "seed": 1, "steps": 1, "settings": {"scenario": "synthetic:20"},
    "settings_digest": "0" * 64, "scenario_digest": "", "folder": "", "content_hash": "",
}  # fmt: skip
BUNDLE: dict[str, Any] = {
    "format": 1, "made": "2026-01-01T00:00:00+00:00", "version": "0.1.0", "environment": {}, "entries": [ENTRY],
    "measures": {}, "hypotheses": [], "notes": "", "baseline": "", "digest": "0" * 64,
}  # fmt: skip
MAY_LACK = ("hypotheses", "notes", "baseline", "digest")
WRONG: tuple[Any, ...] = (None, 1.5, True, "text", [], ["a"], {"a": [1]}, 10**60)
CELLS: dict[str, tuple[str, ...]] = {
    "text": ("", "\u200b", "\u2060\ufeff", "\u3164", "x" * 10_001),
    "veracity": ("ture", "2", "political", "nan", "\u200b"),
    "plausibility": ("2", "-0.1", "nan", "inf", "0x1", "1e999", "much", DIGITS),
    "type": ("political", "News report", "1", "nan"),
    "step": ("0", "-1", "1.5", "1e7", "nan", "soon", DIGITS),
    "stance:dam": ("1.01", "nan", "pro", DIGITS),
    "strength:dam": ("2", "-1", "nan", "strong"),
    "source": ("Gazete", "Gаzette", "\u200b", "x" * 201),
    "account": ("nobody",),
    "topic": ("x" * 201, "\u200b"),
    "stance:": ("1",),
    "stance:nothing": ("0.5",),
    "unknown": ("1",),
}
TIMES = (
    "1e300", "-1e300", "nan", "inf", "2024-02-31", "soon", DIGITS, "253402300800", "-62135596801", "9999999999999999",
)  # fmt: skip
NAMES = (
    "leave_out.posts=[99999]", "leave_out.posts=[-1]", "leave_out.posts=[20]", f"leave_out.posts=[{10**60}]",
    "leave_out.posts=3", "leave_out.posts=[a]", "leave_out.posts=[1.5]", "leave_out.agents=[-1, 5000]",
    "leave_out.agents=[5000]", "leave_out.agents=[true]", "leave_out.veracity=[unknown]", "leave_out.veracity=[no]",
    "leave_out.veracity=[null]", "leave_out.veracity=false", "leave_out.vercity=[false]", "treatments=[{}]",
    "treatments=[{name: '<svg onload=alert(1)>'}]", "treatments=[{name: ''}]", "treatments=[{name: a}, {name: a}]",
    "treatments=[{name: a, start: 0}]", "treatments=[{name: a, share: 2}]", "treatments=[{name: false}]",
    "treatments=[{name: a, effects: {labels: on}}]", "treatments=[{name: a, effects: {friction: {shar: 1}}}]",
    "events=[{step: 1, message: {text: a, source: Nobody}}]", "events=[{step: 1, inject: {posts: 99999}}]",
    "events=[{step: 1, inject: {posts: 1, source: Nobody}}]", "events=[{step: 1, inject: {posts: 1, veracity: no}}]",
    "events=[{step: 1, set: {leave_out.posts: [1]}}]", "events=[{step: 1}]", "events=[3]", "events={a: 1}",
    "events=[{step: 1, message: {text: a, source: Source 1, audience: {treatment: a}}}]",
    "policy={name: coordinated, sources: [Nobody]}", "policy={name: coordinated, accounts: [-1]}",
    "policy={name: coordinated, accounts: [5000]}", "policy={name: coordinated, proposition: 9}",
    "policy={name: mix, members: [{name: coordinated, share: 1, params: {accounts: [5000]}}]}",
    "policy={name: mix, members: [{name: nobody, share: 1}]}",
    "policy={name: scripted, script: [{step: 1, agent: 5000, action: like, rank: 0}]}",
    "population.stance={nobody: {mean: 0}}", "population.margins={gendre: {Male: 1}}",
    "population.margins={gender: {Mal: 1}}", "population.margins={gender: {Male: 2}}",
    "beliefs={rule: log_odds, profiles: no.csv}", "graph={kind: file, path: no.csv}",
    "beliefs.stance_scorer=nobody", "moderation.strategy=nobody",
)  # fmt: skip


def of_documents() -> list[Attempt]:
    """Every hostile document, at every reader of its kind."""
    attempts = []
    for documents, readers in ((YAML_DOCUMENTS, YAML_READERS), (JSON_DOCUMENTS, JSON_READERS)):
        for reader, (words, name, files) in readers.items():
            for what, content in documents.items():
                attempts.append((f"{reader}: {what}", words, {**files, name: content}))
    return attempts


def of_settings() -> list[Attempt]:
    """Values at settings, by the command line and by a file; and names of what is not there."""
    attempts: list[Attempt] = [(f"--set {key}={value[:20]}", [*RUN, "--set", f"{key}={value}"], {})
                               for key in SETTINGS for value in VALUES]  # fmt: skip
    for value in VALUES[:8]:
        attempts.append(
            (f"file, {value[:20]}", ["run", "x.yaml", "--out", "o"], {"x.yaml": f"feed: {{pool: {value}}}"})
        )
    attempts += [(f"--set {one[:60]}", [*RUN, "--set", one], {}) for one in NAMES]
    for n in ("99999999999999", "10000001", "-1", "0", DIGITS, "1.5"):
        attempts.append((f"sample {n[:20]}", ["personas", "sample", "--n", n, "--out", "p.jsonl"], {}))
        attempts.append((f"describe {n[:20]}", ["personas", "describe", "--n", n], {}))
    return attempts


def of_bundles() -> list[Attempt]:
    """A bundle with one value wrong, or one missing."""
    attempts: list[Attempt] = []

    def put(name: str, bundle: dict[str, Any]) -> None:
        attempts.append((f"bundle, {name}", ["verify", "x.json"], {"x.json": json.dumps(bundle)}))

    for key, right in BUNDLE.items():
        if key not in MAY_LACK:
            put(f"no {key}", {name: value for name, value in BUNDLE.items() if name != key})
        for value in WRONG:
            if not _would_do(right, value):
                put(f"{key} {value!r}"[:60], {**BUNDLE, key: value})
    for key, right in ENTRY.items():
        for value in WRONG:
            if not _would_do(right, value):
                put(f"entry, {key} {value!r}"[:60], {**BUNDLE, "entries": [{**ENTRY, key: value}]})
    put("a key too many", {**BUNDLE, "more": 1})
    put("a key of an entry too many", {**BUNDLE, "entries": [{**ENTRY, "more": 1}]})
    put("NUL in a folder", {**BUNDLE, "entries": [{**ENTRY, "folder": "a\0b"}]})
    put("a hypothesis without an arm", {**BUNDLE, "hypotheses": [{"outcome": "a"}]})
    return attempts


def _would_do(right: Any, value: Any) -> bool:
    """Whether a value is of the right kind, so that it cannot be told from a right one."""
    if isinstance(right, dict):
        return isinstance(value, dict) and right is not ENTRY["settings"] and value == {}
    if isinstance(right, list):
        return value == []
    if isinstance(right, int):
        return isinstance(value, int) and not isinstance(value, bool) and right is not BUNDLE["format"]
    return isinstance(value, str)


def of_cells() -> list[Attempt]:
    """A post with one bad cell, or one bad column; and times."""
    attempts: list[Attempt] = []
    for column, cells in CELLS.items():
        for cell in cells:
            row = {**ROW, column: cell}
            if column.startswith("strength:"):
                row["stance:dam"] = "0.5"
            posts = "\n".join(",".join(cells) for cells in (row, row.values())) + "\n"
            files: Files = {"s/scenario.yaml": SCENARIO, "s/posts.csv": posts}
            attempts.append((f"{column}, {ascii(cell)[:20]}", ["run", "s", "--out", "o"], files))
    for time in TIMES:
        timed = SCENARIO + "step_length: 1h\nstart_time: 2024-05-01\n"
        posts = f"text,source,time\na,Gazette,{time}\n"
        attempts.append((f"time {time[:20]}", ["run", "s", "--out", "o"],
                         {"s/scenario.yaml": timed, "s/posts.csv": posts}))  # fmt: skip
        attempts.append((f"start {time[:20]}", ["run", "s", "--out", "o"],
                         {"s/scenario.yaml": timed.replace("2024-05-01", time), "s/posts.csv": posts}))  # fmt: skip
    return attempts


def of_sizes() -> list[Attempt]:
    """Very many of what is wrong."""
    keys = "".join(f"k{k}: 1\n" for k in range(100_000))
    inner = "feed:\n" + "".join(f"  k{k}: 1\n" for k in range(100_000))
    many = "propositions:\n" + "".join(f"- {{name: k{k}, text: a}}\n" for k in range(40_000)) + "posts: [{text: a}]\n"
    sources = "sources:\n" + "".join("- {name: a}\n" for _ in range(40_000)) + "posts: [{text: a}]\n"
    run = ["run", "x.yaml", "--out", "o"]
    return [
        ("100,000 unknown keys", run, {"x.yaml": keys}),
        ("100,000 unknown keys in a section", run, {"x.yaml": inner}),
        ("100,000 unknown keys of a scenario", ["run", "s"], {"s/scenario.yaml": keys}),
        ("40,000 propositions", ["run", "s"], {"s/scenario.yaml": many}),
        ("40,000 equal sources", ["run", "s"], {"s/scenario.yaml": sources}),
        ("100,000 stances", ["run", "p.csv"], {"p.csv": ",".join(f"stance:k{k}" for k in range(100_000)) + ",text\n"}),
        ("100,000 equal columns", ["run", "p.csv"], {"p.csv": ",".join(["a"] * 100_000) + ",text\n"}),
        ("1,000,001 values", run, {"x.yaml": "a: [" + "1," * 1_000_000 + "1]"}),
        ("17 MB", run, {"x.yaml": "# " + "x" * 17_000_000}),
        ("a large record.yaml", ["inspect", "r"], {"r/record.yaml": "a: [" + "1, " * 1_000_000 + "1]"}),
        ("40,000 treatments", run, {"x.yaml": "treatments: [" + "{name: a}, " * 40_000 + "]"}),
    ]

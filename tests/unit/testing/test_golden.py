"""Golden checks: recorded inputs and outputs where they are there, and files made here by the page in plain Python."""

from __future__ import annotations

import copy
import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import repository
from raised_errors import raises_error
from simswarm_oracle import Believer, update
from townsquare.beliefs.stance.vader import SCORER, score_text
from townsquare.core.errors import DataError
from townsquare.testing.golden.golden import check

SHARED = repository.SHARED / "data" / "simswarm"
KINDS = ("update", "apply", "stance", "bands")


@pytest.mark.parametrize("kind", KINDS)
def test_recorded_by_simswarm(kind: str) -> None:
    path = SHARED / f"{kind}_golden.jsonl"
    if not path.is_file():
        pytest.skip(f"{path.name} is not there: set TOWNSQUARE_SHARED to the folder that holds data/simswarm/")
    report = check(path)
    assert report.kind == kind
    assert report.failures == []
    assert report.passed
    assert max(report.largest_difference.values()) <= (1e-12 if kind in ("update", "apply") else 0.0)


# --- files of the same formats, made here ---------------------------------------------------------------------


def write(path: Path, cases: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(case) + "\n" for case in cases), encoding="utf-8")
    return path


def random_round(rng: np.random.Generator) -> dict[str, Any]:
    posts = [
        [f"a{rng.integers(6)}", f"h{rng.integers(9)}", float(rng.uniform(-1, 1)), int(rng.integers(0, 200))]
        for _ in range(rng.integers(0, 20))
    ]
    return {"posts": posts, "ol": int(rng.integers(0, 300)), "od": int(rng.integers(0, 300))}


def update_case(start: dict[str, Any], rounds: list[dict[str, Any]]) -> dict[str, Any]:
    """Fill in what the page gives after every round."""
    stem, many = start.get("exp_gen", ["", 0])
    seen = {*start.get("exp", []), *(f"{stem}{i}" for i in range(many))}
    agent = Believer(start["pos"].get("t", 0.0), start["conf"].get("t", 0.5), dict(start["trust"]), seen)
    for call in rounds:
        update(agent, [tuple(post) for post in call["posts"]], call["ol"], call["od"])
        call["out"] = {
            "pos": agent.stance,
            "conf": agent.confidence,
            "trust": dict(agent.trust),
            "exp_n": min(len(agent.seen), 2000),
        }
        if len(agent.seen) <= 2000:
            text = "\n".join(sorted(agent.seen))
            call["out"]["exp_sha"] = hashlib.sha256(text.encode()).hexdigest()[:16]
    return {"i": 0, "kind": "normal", "topic": "t", "init": start, "rounds": rounds}


@pytest.fixture
def update_cases() -> list[dict[str, Any]]:
    rng = np.random.default_rng(3)
    known = {"a0": 0.9, "a1": 0.1, "b": 0.3}
    starts: list[dict[str, Any]] = [
        {"pos": {"t": 0.4, "other": -0.2}, "conf": {"t": 0.6}, "trust": known, "exp": ["h1", "h2"]},
        {"pos": {}, "conf": {"other": 0.9}, "trust": {}, "exp": []},
        {"pos": {"t": -1.7}, "conf": {"t": -0.2}, "trust": {"a0": 1.4, "z": -0.5}, "exp": []},
        {"pos": {"t": 1.0}, "conf": {"t": 0.0}, "trust": {}, "exp": []},
    ]
    cases = [update_case(start, [random_round(rng) for _ in range(4)]) for start in starts * 5]
    empty = {"posts": [], "ol": 0, "od": 0}
    cases.append(update_case({"pos": {"t": 3.0}, "conf": {"t": 7.0}, "trust": known, "exp": []}, [empty]))
    twice = {"posts": [["a", "same", 0.5, 0], ["b", "same", -0.5, 0]], "ol": 0, "od": 0}
    cases.append(update_case({"pos": {}, "conf": {}, "trust": {}, "exp": []}, [twice, copy.deepcopy(twice)]))
    cases.append(update_case({"pos": {}, "conf": {}, "trust": {}, "exp_gen": ["x", 1999]}, [random_round(rng)]))
    return cases


def test_update(update_cases: list[dict[str, Any]], tmp_path: Path) -> None:
    report = check(write(tmp_path / "u.jsonl", update_cases))
    assert (report.kind, report.cases, report.failures) == ("update", len(update_cases), [])
    assert report.rounds == sum(len(case["rounds"]) for case in update_cases)
    assert report.largest_difference == {"stance": 0.0, "confidence": 0.0, "trust": 0.0, "seen": 0.0}


@pytest.mark.parametrize("quantity", ["pos", "conf", "exp_n"])
def test_update_finds_a_wrong_value(quantity: str, update_cases: list[dict[str, Any]], tmp_path: Path) -> None:
    update_cases[2]["rounds"][3]["out"][quantity] += 1e-9 if quantity != "exp_n" else 1
    report = check(write(tmp_path / "u.jsonl", update_cases))
    assert not report.passed
    assert len(report.failures) == 1
    assert "line 3, round 4" in report.failures[0]


def test_update_compares_the_whole_of_trust(update_cases: list[dict[str, Any]], tmp_path: Path) -> None:
    first, second = update_cases[0]["rounds"][3]["out"]["trust"], update_cases[1]["rounds"][3]["out"]["trust"]
    del first["b"]
    second["nobody"] = 0.5
    report = check(write(tmp_path / "u.jsonl", update_cases))
    assert ["'b' is not recorded" in report.failures[0], "'nobody' is missing" in report.failures[1]] == [True, True]


TEXTS = ["I love this plan.", "This is a disaster.", "", " ", "The council met.", "I love this plan."]
KINDS_OF_ACTION = ["post", "CREATE_POST", "Comment", "reply", "vote", "comment_on_market"]


def apply_case(seed: int) -> dict[str, Any]:
    """Four agents, two of them with one display name, as the page's section on the engine has it."""
    rng = np.random.default_rng(seed)
    names = {"u0": "Kim", "u1": "Kim", "u2": "Lou", "u3": "Max"}
    held: dict[str, Believer] = {}
    rounds = []
    for number in (1, 2, 3):
        records, likes = [], {}
        for n in range(rng.integers(0, 8)):
            agent = f"u{rng.integers(3)}"
            text = {["text", "content"][rng.integers(2)]: TEXTS[rng.integers(len(TEXTS))]}
            post = f"p{number}_{n}" if rng.random() < 0.7 else None
            if post and rng.random() < 0.5:
                likes[post] = [int(rng.integers(0, 9)), int(rng.integers(0, 9))]
            records.append(
                {"agent_id": agent, "agent_name": names[agent], "action_type": KINDS_OF_ACTION[rng.integers(6)],
                 "args": text, "success": bool(rng.random() < 0.85), "post_id": post}
            )  # fmt: skip
        apply_round(number, names, held, records, likes)
        out = {agent: belief_of(held.get(agent)) for agent in names}
        rounds.append({"round": number, "records": records, "likes": likes, "out": out})
    return {"kind": "apply", "i": seed, "agents": list(names.items()), "rounds": rounds}


def apply_round(number: int, names: dict, held: dict, records: list, likes: dict) -> None:
    posts = []
    for record in records:
        text = record["args"].get("text") or record["args"].get("content")
        posting = record["action_type"].lower() in {"create_post", "post", "comment", "reply"}
        if record["success"] and posting and text:
            posts.append((record["agent_id"], text, likes.get(record["post_id"], [0, 0])))
    for agent in names:
        others = [
            (names[who], (number, who, text), score_text(text), reactions[0])
            for who, text, reactions in posts
            if who != agent
        ]
        own = [sum(reactions[k] for who, _, reactions in posts if who == agent) for k in (0, 1)]
        if others or any(own):
            update(held.setdefault(agent, Believer()), others, *own)


def belief_of(agent: Believer | None) -> dict[str, Any]:
    if agent is None:
        return {"pos": {}, "conf": {}, "trust": {}}
    return {"pos": {"topic": agent.stance}, "conf": {"topic": agent.confidence}, "trust": dict(agent.trust)}


def test_apply(tmp_path: Path) -> None:
    report = check(write(tmp_path / "a.jsonl", [apply_case(seed) for seed in range(40)]))
    assert (report.kind, report.cases, report.rounds, report.failures) == ("apply", 40, 120, [])
    assert report.largest_difference == {"stance": 0.0, "confidence": 0.0, "trust": 0.0}


def test_apply_finds_who_should_not_have_been_touched(tmp_path: Path) -> None:
    cases = [apply_case(seed) for seed in range(40)]
    spot = next((case, n) for case in cases for n, call in enumerate(case["rounds"]) if not call["out"]["u3"]["pos"])
    spot[0]["rounds"][spot[1]]["out"]["u3"] = {"pos": {"topic": 0.0}, "conf": {"topic": 0.5}, "trust": {}}
    report = check(write(tmp_path / "a.jsonl", cases))
    assert any("u3: stance of 'topic' is missing" in failure for failure in report.failures)
    del cases[1]["rounds"][0]["out"]["u3"]
    assert any("'u3' stands only on one side" in f for f in check(write(tmp_path / "b.jsonl", cases)).failures)


# Values that the authors of VADER publish for these sentences.
PUBLISHED = [
    ("VADER is smart, handsome, and funny.", 0.8316),
    ("VADER is smart, handsome, and funny!", 0.8439),
    ("At least it isn't a horrible book.", 0.431),
    ("Today SUX!", -0.5461),
    ("The book was good.", 0.4404),
    ("", 0.0),
]


def test_stance(tmp_path: Path) -> None:
    cases = [{"i": i, "text": text, "stance": value} for i, (text, value) in enumerate(PUBLISHED)]
    report = check(write(tmp_path / "s.jsonl", cases))
    assert (report.kind, report.failures) == ("stance", [])
    cases[0]["stance"] += 1e-4
    assert len(check(write(tmp_path / "s.jsonl", cases)).failures) == 1


def test_tone_is_the_same_toward_every_proposition_and_is_called_tone() -> None:
    tone = SCORER.score(["Today SUX!", "", "Today SUX!"], ["Build it", "Tax it"])
    assert tone.tolist() == [[-0.5461, -0.5461], [0.0, 0.0], [-0.5461, -0.5461]]
    assert SCORER.score([], ["Build it"]).shape == (0, 1)
    assert SCORER.score(["Today SUX!"], []).shape == (1, 0)
    assert SCORER.measures == "tone"


def test_bands(tmp_path: Path) -> None:
    cases = [
        {"kind": "bands", "pos": -0.6, "conf": None, "pos_band": 0, "conf_band": 2},
        {"kind": "bands", "pos": 0.6, "conf": 0.75, "pos_band": 4, "conf_band": 3},
    ]
    report = check(write(tmp_path / "b.jsonl", cases))
    assert (report.kind, report.failures) == ("bands", [])
    cases[1]["conf_band"] = 2
    assert len(check(write(tmp_path / "b.jsonl", cases)).failures) == 1


GOOD = '{"text": "a", "stance": 0.0}\n'


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("", {"got": "no lines"}),
        ("\n\n", {"got": "no lines"}),
        ('{"text": 3}', {"where": "line 1"}),
        ("[1, 2]", {"where": "line 1"}),
        ("{", {"where": "line 1"}),
        ('{"color": 1}', {"got": "color"}),
        (GOOD + "\n{oops}", {"where": "line 3"}),
        (GOOD + '{"text": "a"}', {"where": "line 2, stance"}),
        (GOOD + '{"text": null, "stance": 0}', {"where": "line 2, text"}),
        ('{"init": {}, "rounds": [], "topic": "t"}', {"where": "line 1, init.pos"}),
        ('{"agents": [["u0"]], "rounds": []}', {"where": "line 1, agents.0"}),
        ('{"pos": 0, "conf": "high", "pos_band": 0, "conf_band": 0}', {"where": "line 1, conf"}),
    ],
)
def test_malformed_files_are_told_with_file_and_line(text: str, where: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(text, encoding="utf-8")
    with raises_error(DataError, **where) as caught:
        check(path)
    assert str(path) in caught.value.where


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with raises_error(DataError, got="No such file"):
        check(tmp_path / "nothing.jsonl")
    (tmp_path / "bytes.jsonl").write_bytes(b"\xff\xfe\x00")
    with raises_error(DataError, allowed="UTF-8"):
        check(tmp_path / "bytes.jsonl")

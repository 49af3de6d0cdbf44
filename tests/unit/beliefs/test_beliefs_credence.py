"""The rule ``credence`` against plain Python, and what it must show of people."""

from __future__ import annotations

import itertools
import math
from statistics import fmean
from typing import Any

import numpy as np
import pytest

from townsquare.beliefs.contract import BeliefInputs, BeliefState, Contents, Exposed, Trail, no_own, per_agent, rows_of
from townsquare.beliefs.credence import RULE, Params
from townsquare.core.draws import Draws, Stage
from townsquare.core.enums import TrailKind, Verdict

DRAW = Draws(3, 1)(Stage.BELIEF)
UNIQUE = itertools.count(1000)


def inputs_of(rows: list[dict[str, Any]], n: int = 1, p: int = 1, hours: float = 24.0) -> BeliefInputs:
    """``rows`` name agent, proposition, stance; and may name plausibility, verdict, noted, credibility, first_seen."""
    rows = sorted(rows, key=lambda row: (row.get("agent", 0), row.get("proposition", 0)))
    rows = [row if "plausibility" not in row else {"claim": next(UNIQUE), **row} for row in rows]
    counts = [sum(row.get("agent", 0) == i for row in rows) for i in range(n)]
    shown = rows_of(
        Exposed, np.r_[0, np.cumsum(counts)], post=np.arange(len(rows)), author=5,
        **{name: [row.get(name, usual) for row in rows] for name, usual in (
            ("proposition", 0), ("stance", 0.5), ("credibility", math.nan), ("first_seen", True), ("weight", 1.0))},
    )  # fmt: skip
    contents = Contents(
        np.array([row.get("claim", -1) for row in rows], np.int32),
        np.array([row.get("plausibility", math.nan) for row in rows], np.float64),
        np.array([row.get("verdict", 0) for row in rows], np.uint8),
        np.array([row.get("noted", False) for row in rows], np.bool_),
    )
    return BeliefInputs(0, shown, no_own(n, p), contents=contents, hours=hours)


def start(*stances: float, **settings: Any) -> tuple[BeliefState, Any]:
    params = per_agent(Params(**settings), len(stances))
    made = np.array(stances, np.float64)[:, None]
    return RULE.init(made, np.full(made.shape, 0.5), params), params


def taken(state: BeliefState, params: Any, inputs: BeliefInputs) -> tuple[BeliefState, Trail]:
    return RULE.step(state, inputs, params, DRAW)


def marks(s: Params, heed: float, row: dict[str, Any]) -> tuple[float, float] | None:
    """What the verdict and the note beside a claim add to its log odds; None where neither stands there."""
    verdict, noted = row.get("verdict") if s.verdict else None, row.get("noted", False) and s.note > 0
    if noted or verdict == Verdict.FALSE:
        if heed >= s.heed_false:
            return 0.0, 0.0
        sizes = s.verdict * (verdict == Verdict.FALSE), s.note * noted
        return -max(sizes[0] / 2, sizes[0] - sizes[1] / 2), -max(sizes[1] / 2, sizes[1] - sizes[0] / 2)
    return (s.verdict * (heed < s.heed_true), 0.0) if verdict == Verdict.TRUE else None


def plain(stance: float, steps: list[tuple[float, list[dict[str, Any]]]], heed: float, **changed: float) -> float:
    """Log odds after some steps of one agent on one proposition, in plain Python."""
    s = Params(**changed)
    base = math.log((1 + stance) / (1 - stance))
    moved, reads, since = 0.0, {False: 0.0, True: 0.0}, 0.0
    for hours, rows in steps:
        since += hours
        if not rows and since < 24:
            continue
        moved *= 2 ** (-since / 24 / s.half_life)
        reads = {side: n * math.exp(-since / 24) for side, n in reads.items()}
        since, added, own = 0.0, 0.0, base + moved
        for side in (False, True):
            here = [row for row in rows if (row["stance"] > 0) == side and row.get("first_seen", True)]
            after = reads[side] + s.attention * len(here)
            worth = [n / (1 + (n - 1) * s.overlap) if n > 1 else n for n in (reads[side], after)]
            for row in here:
                r = s.reliability * 2 * row["credibility"] if "credibility" in row else s.reliability
                if "plausibility" in row:
                    suits = math.copysign(1, own * row["stance"]) if own else 0
                    v = math.log(row["plausibility"] / (1 - row["plausibility"])) + s.concord * suits / 2
                    v += sum(marks(s, heed, row) or (0.0, 0.0))
                    r *= min(1.0, 1 / (1 + math.exp(-v)) / s.credence)
                size = 2 * math.atanh(min(r * abs(row["stance"]), s.cap))
                added += math.copysign(size, row["stance"]) * (worth[1] - worth[0]) / len(here) * s.new
            reads[side] = after
        moved += added
    return base + moved


@pytest.mark.parametrize("seed", range(20))
def test_steps_are_those_of_plain_python(seed: int) -> None:
    chance = np.random.default_rng(seed)
    settings = {"attention": 0.6, "new": 1.0, "half_life": 3.0, "reliability": 0.4, "note": float(seed % 5)}
    stance = float(chance.uniform(-0.8, 0.8))
    steps = []
    for _ in range(12):
        rows = [
            {"stance": float(chance.uniform(-1, 1)), "first_seen": bool(chance.random() < 0.8)}
            | ({"credibility": float(chance.random())} if chance.random() < 0.5 else {})
            | ({"plausibility": float(chance.uniform(0.05, 0.95)), "verdict": int(chance.integers(len(Verdict))),
                "noted": bool(chance.random() < 0.2)} if chance.random() < 0.6 else {})
            for _ in range(int(chance.integers(0, 5)) * int(chance.random() < 0.6))
        ]  # fmt: skip
        steps.append((float(chance.choice([1.0, 8.0, 24.0])), rows))
    state, params = start(stance, **settings)
    heed = float(DRAW.uniform("heed", [0], lasting=True)[0])
    for hours, rows in steps:
        before = state.arrays["log_odds"][0, 0]
        state, trail = taken(state, params, inputs_of(rows, hours=hours))
        assert trail.amount.sum() == pytest.approx(state.arrays["log_odds"][0, 0] - before, abs=1e-12)
    assert state.arrays["log_odds"][0, 0] == pytest.approx(plain(stance, steps, heed, **settings), abs=1e-12)


def test_decay_over_many_steps_is_that_over_one() -> None:
    moved, params = taken(*start(0.2, attention=1.0), inputs_of([{"stance": 0.9}]))[0], start(0.2)[1]
    whole, trail = taken(moved, params, inputs_of([], hours=48.0))
    assert set(trail.kind) == {TrailKind.ANCHOR}
    split = moved
    for _ in range(96):
        split = taken(split, params, inputs_of([], hours=0.5))[0]
    assert split.stance[0, 0] == pytest.approx(whole.stance[0, 0], abs=1e-12)
    assert whole.start[0, 0] < whole.stance[0, 0] < moved.stance[0, 0]


def test_a_flood_of_one_side_adds_no_more_than_its_independent_witnesses() -> None:
    one, params = start(0.0, attention=1.0, new=1.0)
    flood = taken(one, params, inputs_of([{"stance": 0.5}] * 1000))[0].arrays["log_odds"][0, 0]
    single = taken(one, params, inputs_of([{"stance": 0.5}]))[0].arrays["log_odds"][0, 0]
    assert single < flood < single / Params().overlap


def moves(n: int = 2000, **row: Any) -> np.ndarray:
    state, params = start(*[0.4] * n, attention=1.0, new=1.0)
    after = taken(state, params, inputs_of([{"agent": i, "stance": 0.9} | row for i in range(n)], n))[0]
    return np.asarray(after.stance[:, 0] - 0.4)


def test_a_claim_moves_as_far_as_it_is_believed_and_a_label_reaches_those_who_heed_it() -> None:
    opinion, news, unlikely = moves(), moves(plausibility=0.69), moves(plausibility=0.2)
    assert (opinion > news - 1e-12).all()
    assert (news > unlikely).all()
    labeled, noted = moves(plausibility=0.69, verdict=int(Verdict.FALSE)), moves(plausibility=0.69, noted=True)
    assert (labeled == noted).all()
    assert (labeled < news - 1e-9).mean() == pytest.approx(Params().heed_false, abs=0.03)
    true = moves(plausibility=0.2, verdict=int(Verdict.TRUE))
    assert (true > unlikely + 1e-9).mean() == pytest.approx(Params().heed_true, abs=0.03)
    assert (moves(stance=-0.9) < 0).all()  # nothing pushes away from a speaker


class Mind:
    """What one person believes of claims, in plain Python: sums over everything it met, at any time."""

    def __init__(self, heed: float, **changed: float) -> None:
        self.s, self.heed, self.prior = Params(**changed), heed, dict[int, float]()
        self.met: list[tuple[float, int, float, float]] = []  # hours, claim, readings, reliability
        self.marks: dict[int, list[tuple[float, float, list[float]]]] = {}  # hours, share seen, verdict and note

    def left(self, hours: float) -> tuple[float, float]:
        return math.exp(-hours / 24 / self.s.fast_days), math.exp(-hours / 24 / self.s.slow_days)

    def parts(self, claim: int, now: float) -> tuple[float, float, float, float]:
        """Source, verdict, repetition and note: what is left of each."""
        s, trace, source, n = self.s, 0.0, 0.0, 0.0
        share = s.fast_share, 1 - s.fast_share
        for hours, of, readings, reliability in self.met:
            if of == claim:
                trace += readings * sum(a * b for a, b in zip(share, self.left(now - hours), strict=True))
                worth = [k / (1 + (k - 1) * s.overlap) if k > 1 else k for k in (n, n + readings)]
                source += 2 * math.atanh(reliability * 0.5) * (worth[1] - worth[0])
                n += readings
        verdict, note = (self.kept(claim, kind, now) for kind in range(2))
        return source, verdict, s.familiar * math.log2(1 + trace), note

    def kept(self, claim: int, kind: int, now: float) -> float:
        """What is left of verdicts (0) or notes (1): each mark replaces a part of what was there, of both kinds."""
        share, last, kept = (self.s.fast_share, 1 - self.s.fast_share), 0.0, [0.0, 0.0]
        for hours, seen, says in [*self.marks.get(claim, []), (now, 0.0, [0.0, 0.0])]:
            kept = [k * left for k, left in zip(kept, self.left(hours - last), strict=True)]
            kept = [k + seen * (says[kind] * part - k) for k, part in zip(kept, share, strict=True)]
            last = hours
        return sum(kept)

    def meet(self, now: float, rows: list[dict[str, Any]], own: float) -> dict[int, tuple[float, float]]:
        """Take in a step; return what verdicts and notes count at the showing of each claim, there or remembered."""
        judged = {}
        for claim in dict.fromkeys(row["claim"] for row in rows):
            here = [row for row in rows if row["claim"] == claim]
            p = here[0]["plausibility"]
            suits = fmean(math.copysign(1, own * row["stance"]) for row in here)
            self.prior.setdefault(claim, math.log(p / (1 - p)) + self.s.concord * suits / 2)
            reliability = fmean(min(1, 2 * self.s.reliability * row["credibility"]) for row in here)
            self.met.append((now, claim, self.s.attention * len(here), reliability))
            before = self.kept(claim, 0, now), self.kept(claim, 1, now)
            says = [marks(self.s, self.heed, row) for row in here]
            verdict, note = ([(mark or before)[kind] for mark in says] for kind in range(2))
            judged[claim] = fmean(verdict), fmean(note)
            if shown := [mark for mark in says if mark is not None]:
                seen = 1 - (1 - self.s.attention) ** len(shown)
                mean = [fmean(mark[kind] for mark in shown) for kind in range(2)]
                self.marks.setdefault(claim, []).append((now, seen, mean))
        return judged


@pytest.mark.parametrize("seed", range(12))
def test_what_people_believe_of_claims_is_that_of_plain_python(seed: int) -> None:
    chance = np.random.default_rng(seed)
    settings = {"attention": float(chance.uniform(0.05, 1)), "reliability": 0.4, "note": float(seed % 5)}
    plausible = chance.uniform(0.1, 0.9, 4).tolist()
    state, params = start(0.3, **settings)
    draw = Draws(seed, 1)(Stage.BELIEF)
    mind, now = Mind(float(draw.uniform("heed", [0], lasting=True)[0]), **settings), 0.0
    for _ in range(15):
        now += (hours := float(chance.choice([1.0, 6.0, 24.0, 90.0])))
        rows = [
            {"stance": float(chance.uniform(-1, 1)), "credibility": float(chance.random()), "claim": int(claim),
             "plausibility": plausible[claim], "verdict": int(chance.integers(len(Verdict))),
             "noted": bool(chance.random() < 0.3)}
            for claim in chance.integers(0, 4, int(chance.integers(0, 5)))
        ]  # fmt: skip
        leaky = state.arrays["log_odds"][0, 0] - state.arrays["baseline"][0, 0]
        own = float(state.arrays["baseline"][0, 0] + leaky * 2 ** (-hours / 24 / Params().half_life))
        state, _ = RULE.step(state, inputs_of(rows, hours=hours), params, draw)
        judged = mind.meet(now, rows, own)
        assert RULE.veracities is not None
        met = RULE.veracities(state, params)
        assert sorted(met.claim.tolist()) == sorted({row["claim"] for row in rows})
        for claim, veracity, *parts in zip(
            met.claim.tolist(), met.veracity, met.source, met.verdict, met.repetition, met.note, strict=True
        ):
            assert parts == pytest.approx(mind.parts(claim, now), abs=1e-12)
            assert veracity == pytest.approx(mind.prior[claim] + sum(parts), abs=1e-12)
        for claim, *counted in zip(met.claim.tolist(), met.judged_verdict, met.judged_note, strict=True):
            assert counted == pytest.approx(judged[claim], abs=1e-12)


def test_repetition_raises_belief_at_the_size_of_the_experiments_and_fades() -> None:
    row = {"stance": 0.1, "plausibility": 0.5, "claim": 7, "credibility": 0.0}
    state, params = start(0.0, attention=1.0)
    state = taken(state, params, inputs_of([row], hours=0.01))[0]
    assert RULE.veracities is not None
    sizes = []
    for days in (0.01, 1.0, 6.0, 23.0):
        state = taken(state, params, inputs_of([{**row, "first_seen": False}], hours=24 * days))[0]
        sizes.append(float(RULE.veracities(state, params).repetition[0]))
    assert sizes[0] == pytest.approx(0.55 * math.log2(3), abs=0.02)  # two readings
    once = taken(*start(0.0, attention=1.0), inputs_of([row], hours=0.01))[0]
    later = taken(once, params, inputs_of([{**row, "claim": 8}], hours=24 * 30))[0]
    assert set(RULE.veracities(later, params).claim.tolist()) == {8}


@pytest.mark.parametrize("seed", range(4))
def test_neither_the_order_of_rows_nor_steps_without_rows_change_what_is_believed(seed: int) -> None:
    chance = np.random.default_rng(seed)
    one, params = start(0.3, attention=0.7)
    other = one
    for _ in range(6):
        rows: list[dict[str, Any]] = [
            {"stance": float(chance.uniform(-1, 1)), "credibility": float(chance.random()), "claim": k % 3,
             "plausibility": 0.4, "verdict": int(chance.integers(len(Verdict))), "noted": bool(chance.random() < 0.3)}
            for k in range(7)
        ]  # fmt: skip
        one = taken(one, params, inputs_of(rows, hours=30.0))[0]
        for _ in range(29):
            other = taken(other, params, inputs_of([], hours=1.0))[0]
        other = taken(other, params, inputs_of([rows[k] for k in chance.permutation(7)], hours=1.0))[0]
        assert RULE.veracities is not None
        first, second = RULE.veracities(one, params), RULE.veracities(other, params)
        assert first.claim.tolist() == second.claim.tolist()
        for name in first._fields[2:]:
            assert getattr(first, name) == pytest.approx(getattr(second, name), abs=1e-12)
        assert other.stance[0, 0] == pytest.approx(one.stance[0, 0], abs=1e-12)


def test_a_post_with_several_stances_is_one_showing() -> None:
    one = {"claim": 7, "plausibility": 0.6, "credibility": 0.5, "stance": 0.5, "verdict": int(Verdict.FALSE)}
    params = per_agent(Params(), 1)
    state = RULE.init(np.zeros((1, 2)), np.full((1, 2), 0.5), params)
    assert RULE.veracities is not None
    alone = RULE.veracities(taken(state, params, inputs_of([one], p=2))[0], params)
    rows = inputs_of([one, {**one, "proposition": 1}], p=2)
    both = BeliefInputs(0, rows.exposures._replace(post=np.zeros(2, np.int32)), rows.own, contents=rows.contents)
    twice = RULE.veracities(taken(state, params, both)[0], params)
    assert [column.tolist() for column in alone] == [column.tolist() for column in twice]


def test_a_label_counts_in_full_while_it_stands_beside_the_claim() -> None:
    state, params = start(*[0.0] * 400)
    rows = [{"agent": i, "claim": 7, "plausibility": 0.6, "stance": 0.5, "verdict": int(Verdict.FALSE)}
            for i in range(400)]  # fmt: skip
    assert RULE.veracities is not None
    met = RULE.veracities(taken(state, params, inputs_of(rows, 400))[0], params)
    heed = met.judged < -1
    assert heed.mean() == pytest.approx(Params().heed_false, abs=0.07)
    assert met.judged[heed] == pytest.approx(math.log(1.5) - 3)
    assert (met.veracity[heed] > met.judged[heed] + 2).all()  # memory keeps a twentieth of one showing


@pytest.mark.parametrize("label", [Verdict.TRUE, Verdict.FALSE])
@pytest.mark.parametrize("strength", [1.0, 3.0, 3.4])
def test_a_label_and_a_note_count_as_one_piece_of_evidence(label: Verdict, strength: float) -> None:
    """At once, the stronger counts and each has half of what they share; a note replaces the label "true"."""
    state, params = start(0.0, heed_false=1.0, heed_true=1.0, note=strength)
    row = {"claim": 7, "plausibility": 0.5, "stance": 0.5, "verdict": int(label), "noted": True}
    assert RULE.veracities is not None
    met = RULE.veracities(taken(state, params, inputs_of([row]))[0], params)
    false = Params().verdict if label == Verdict.FALSE else 0.0
    assert met.judged[0] == -max(strength, false)
    shared = min(strength, false) / 2
    assert (met.judged_verdict[0], met.judged_note[0]) == (shared - false, shared - strength)


def test_a_note_replaces_what_is_left_of_a_label_and_a_label_what_is_left_of_a_note() -> None:
    state, params = start(0.0, attention=1.0, heed_false=1.0)
    row = {"claim": 7, "plausibility": 0.5, "stance": 0.5}
    assert RULE.veracities is not None
    for mark, kept, gone in (
        ({"verdict": int(Verdict.FALSE)}, "verdict", "note"),
        ({"noted": True}, "note", "verdict"),
    ):
        state = taken(state, params, inputs_of([row | mark], hours=1.0))[0]
        met = RULE.veracities(state, params)
        assert (getattr(met, kept)[0], getattr(met, gone)[0]) == (-3.0, 0.0)

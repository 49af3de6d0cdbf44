"""Replay: equal to the rules themselves; evidence streams equal to the plain form of appendix B; steps add up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from belief_blocks import shown
from conflict_oracle import resolve_conflict
from raised_errors import raises_error
from synthetic_people import CHOICE, population, row
from townsquare.beliefs.contract import (
    BeliefInputs,
    Changes,
    ClaimExposures,
    Holdings,
    Records,
    no_exposures,
    no_holdings,
    no_own,
    per_agent,
)
from townsquare.beliefs.equation import STANCE_MARGIN, stances_of, start_log_odds
from townsquare.beliefs.evidence.hashing import EMBEDDER, Params
from townsquare.beliefs.evidence.near import Vectors, cosines
from townsquare.beliefs.grids import grid_of
from townsquare.core import registry
from townsquare.core.draws import Draws, Stage
from townsquare.core.enums import HoldingChange, Origin
from townsquare.core.errors import DataError, SettingError, UnknownName
from townsquare.humans.checked import joined
from townsquare.humans.fit.evidence_choice import EvidenceChoice
from townsquare.humans.fit.predict import predict, predict_cell, predict_grid, stepped
from townsquare.humans.fit.replayed import Spans, by_step, mean_shown, net_evidence, whole
from townsquare.humans.fit.stream import Stream, settled, stream_of
from townsquare.humans.judging import judged
from townsquare.humans.option_sides import option_sides
from townsquare.humans.trajectories import Message, Reading, Trajectories

DRAW = Draws(0, 1)(Stage.BELIEF)
CELLS = {
    "log_odds": (0.3, 0.7), "social_log_odds": (0.4, 1.2), "exposure": (0.3, 0.2), "bounded_confidence": (0.4, 0.9),
    "averaging": (0.3, 0.1),
}  # fmt: skip


def few(seed: int = 5, **changes: Any) -> tuple[Trajectories, Stream, Spans]:
    """Twenty people, their streams and their whole stretches."""
    people = population(20, seed=seed, **changes)
    stream = stream_of(people, CHOICE)
    return people, stream, whole(people, stream)


def records_of(spans: Spans) -> Records:
    """Every event as an active record of a peer."""
    rows = spans.rows
    return Records(
        indptr=rows.indptr,
        claim=np.concatenate([np.arange(n) for n in np.diff(rows.indptr)]).astype(np.int32),
        proposition=np.zeros(rows.polarity.size, np.int16),
        polarity=rows.polarity.astype(np.int8),
        strength=rows.strength,
        origin=np.full(rows.polarity.size, Origin.PEER, np.uint8),
        active=np.ones(rows.polarity.size, np.bool_),
        agreed=np.zeros(rows.polarity.size, np.bool_),
    )


def test_log_odds_is_the_rule() -> None:
    _, _, spans = few()
    n = spans.initial.size
    rule = registry.get("beliefs", "log_odds")
    holdings = Holdings(records_of(spans), no_holdings(n).changes, no_holdings(n).claim_exposures)
    for u, a in ((0.0, 1.0), (0.3, 0.7), (0.8, 1.5)):
        params = per_agent(rule.params(uptake=u, anchoring=a), n)
        state = rule.init(spans.initial[:, None], np.full((n, 1), 0.5), params)
        after, _ = rule.step(state, BeliefInputs(0, no_exposures(n), no_own(n, 1), holdings), params, DRAW)
        ours = predict_cell(spans.rows, grid_of("log_odds"), STANCE_MARGIN, u, a)
        assert np.allclose(ours, after.stance[:, 0], rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["exposure", "averaging", "bounded_confidence"])
def test_rules_of_exposures_are_the_rules(name: str) -> None:
    """Person by person, message by message, through the rule's own step."""
    _, _, spans = few()
    grid, (x, y) = grid_of(name), CELLS[name]
    rule = registry.get("beliefs", name)
    params = per_agent(rule.params(**{grid.x_name: x, grid.y_name: y}), 1)
    ours = predict_cell(spans.rows, grid, STANCE_MARGIN, x, y)
    for person in range(spans.initial.size):
        state = rule.init(spans.initial[person : person + 1, None], np.full((1, 1), 0.5), params)
        for at in range(spans.rows.indptr[person], spans.rows.indptr[person + 1]):
            message = {"stance": spans.rows.shown[at], "author": int(spans.rows.author[at]), "post": at}
            state, _ = rule.step(state, BeliefInputs(0, shown([message]), no_own(1, 1)), params, DRAW)
        assert ours[person] == pytest.approx(state.stance[0, 0], abs=1e-12)


def test_social_log_odds_is_the_rule() -> None:
    """Person by person: each message brings one record, is one exposure, and teaches trust."""
    _, _, spans = few()
    rows, (u, a) = spans.rows, CELLS["social_log_odds"]
    rule = registry.get("beliefs", "social_log_odds")
    params = per_agent(rule.params(uptake=u, anchoring=a), 1)
    ours = predict_cell(rows, grid_of("social_log_odds"), STANCE_MARGIN, u, a)
    for person in range(6):
        lo, hi = int(rows.indptr[person]), int(rows.indptr[person + 1])
        state = rule.init(spans.initial[person : person + 1, None], np.full((1, 1), 0.5), params)
        for k in range(hi - lo):
            state, _ = rule.step(state, _message(spans, lo, k), params, DRAW)
        assert ours[person] == pytest.approx(state.stance[0, 0], abs=1e-12)


def _message(spans: Spans, lo: int, k: int) -> BeliefInputs:
    """The inputs of a person's message ``k``, with the records of those before it."""
    rows, held = spans.rows, slice(lo, lo + k + 1)
    n = k + 1
    one = np.array([0, 1], np.int64)
    at, author = np.array([lo + k], np.int32), rows.author[lo + k : lo + k + 1].astype(np.int32)
    records = Records(
        np.array([0, n]), np.arange(n, dtype=np.int32), np.zeros(n, np.int16), rows.polarity[held].astype(np.int8),
        rows.strength[held], np.full(n, Origin.PEER, np.uint8), np.ones(n, np.bool_), np.zeros(n, np.bool_),
    )  # fmt: skip
    zero16, new = np.zeros(1, np.int16), np.array([k], np.int32)
    changes = Changes(one, new, np.array([HoldingChange.ACCEPTED], np.uint8), at, zero16)
    claim_exposures = ClaimExposures(
        one, new, at, zero16, author, np.full(1, np.nan), np.zeros(1, np.int32), np.ones(1, np.bool_), np.ones(1)
    )
    exposed = shown([{"stance": rows.shown[lo + k], "author": int(author[0]), "post": int(at[0])}])
    return BeliefInputs(0, exposed, no_own(1, 1), Holdings(records, changes, claim_exposures))


@pytest.mark.parametrize("name", CELLS)
@pytest.mark.parametrize("stretches", [whole, by_step])
def test_steps_of_the_rule_and_its_compiled_replay_end_alike(name: str, stretches: Callable[..., Spans]) -> None:
    """With records that a stronger near-duplicate put out, of this stretch and of earlier ones."""
    people = population(20, readings=True, seed=5)
    texts = ("Tea calms the nerves of tired people.", "Tea calms the nerves of very tired people.", "Tea stains teeth.")
    said = np.random.default_rng(0).integers(0, 3, people.text.size)
    people = replace(people, texts=texts, text=said)
    rows = stretches(people, stream_of(people, EvidenceChoice(theta=0.7))).rows
    assert (rows.sign < 0).sum() > 10
    rule, grid = registry.get("beliefs", name), grid_of(name)
    x, y = np.array([grid.x[2], CELLS[name][0]]), np.array([grid.y[2], CELLS[name][1]])
    ours = predict(rows, grid, STANCE_MARGIN, x, y).reshape(-1, 4)
    theirs = stepped(rows, rule, STANCE_MARGIN, {grid.x_name: np.repeat(x, 2), grid.y_name: np.tile(y, 2)})
    assert np.abs(ours - theirs).max() <= 1e-12
    assert np.abs(theirs - rows.initial[:, None]).max() > 0.1


def test_rules_without_a_grid_say_what_to_write() -> None:
    with raises_error(SettingError, got="'no_change', which has a grid on none of its settings"):
        grid_of("no_change")
    both = grid_of("exposure-bounded"), grid_of("exposure")
    assert both[0]._replace(rule="exposure") == both[1]


def test_prior_only_is_the_rule_without_uptake_and_all_cells_agree_with_one() -> None:
    _, _, spans = few()
    for name, (x, y) in CELLS.items():
        grid = grid_of(name)
        many = predict(spans.rows, grid, STANCE_MARGIN, np.array([0.02, x]), np.array([y, 0.5]))
        assert np.allclose(many[:, 1, 0], predict_cell(spans.rows, grid, STANCE_MARGIN, x, y), rtol=0, atol=1e-15)
    alone = np.stack([stances_of(start_log_odds(spans.initial, a, STANCE_MARGIN)) for a in (0.4, 1.0)], axis=1)
    assert np.allclose(alone[:, 0], predict_cell(spans.rows, grid_of("log_odds"), STANCE_MARGIN, 0.0, 0.4))
    inside = np.abs(spans.initial) < 0.999
    assert np.allclose(alone[inside, 1], spans.initial[inside])  # a = 1 keeps the start
    assert np.abs(alone[~inside, 1]).max(initial=0) <= 0.999 + 1e-12  # ε = 0.001


def test_grids_are_those_of_appendix_e() -> None:
    grid = grid_of("log_odds")
    assert grid.x == (0.005, 0.01, 0.02, 0.035, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8)
    assert grid.y == (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.2, 1.5)
    assert all(grid_of(rule).shape == (13, 13) for rule in CELLS)
    assert (grid.x_short, grid.x_bounds, grid.y_bounds) == ("u", (0.0, 20.0), (0.0, 5.0))
    near = grid_of("bounded_confidence")
    assert (near.x_name, near.y_short, near.y_bounds) == ("convergence", "eps", (0.0, 2.0))
    with raises_error(UnknownName, do="did you mean 'averaging'"):
        grid_of("averagin")


# --- streams ----------------------------------------------------------------------------------------------------

SAID = (
    ("Tea calms the nerves of tired people.", 1.0, 0.4), ("Tea calms the nerves of very tired people.", 1.0, 0.7),
    ("Tea stains teeth.", -1.0, 0.6), ("Tea calms the nerves of tired people.", 1.0, 0.4),
    ("Coffee tastes better than anything.", -1.0, 0.2), ("Tea calms the nerves of very tired people!", 1.0, 0.9),
)  # fmt: skip


def test_near_duplicates_follow_appendix_b() -> None:
    people = joined("made", [row(messages=[Message("q", side, strength, text) for text, side, strength in SAID])])
    stream = stream_of(people, EvidenceChoice(theta=0.7))
    held: list[int] = []  # the plain form, one claim after the other
    active = [False] * len(SAID)
    vectors = Vectors(EMBEDDER, Params()).of([text for text, _, _ in SAID])
    events = []
    for at, (_, side, strength) in enumerate(SAID):
        near = cosines(vectors, held, [at] * len(held)) if held else np.empty(0)
        found = resolve_conflict(
            near,
            [SAID[k][1] for k in held],
            [SAID[k][2] for k in held],
            [active[k] for k in held],
            int(side),
            strength,
            0.7,
        )
        if found.archived >= 0:
            active[held[found.archived]] = False
            events.append((at + 1, -1.0, SAID[held[found.archived]][2]))
        if found.active:
            active[at] = True
            events.append((at + 1, 1.0, strength))
        held.append(at)
    assert (
        list(zip(stream.received.tolist(), stream.rows.sign.tolist(), stream.rows.strength.tolist(), strict=True))
        == events
    )
    assert stream.counts["replaced"] == 2
    kept = sum(side * strength for (_, side, strength), on in zip(SAID, active, strict=True) if on)
    assert net_evidence(whole(people, stream).rows)[0] == pytest.approx(kept)


def test_messages_without_text_are_no_near_duplicates() -> None:
    people = joined("made", [row(messages=[Message("q", 1.0)] * 3)])
    assert stream_of(people, EvidenceChoice()).counts["accepted"] == 3


def test_uptake_filters() -> None:
    messages = [
        Message("q", 1.0, 0.2, "a"),
        Message("q", 1.0, 0.9, "b"),
        Message("r", 1.0, 0.8, "c"),
        Message("q", -1.0, 0.3, "d"),
    ]
    people = joined("made", [row(messages=messages)])
    kept = {
        name: stream_of(people, EvidenceChoice(uptake_filter=name, dedup=False)).received.tolist()  # type: ignore[arg-type]
        for name in ("none", "first_per_author", "stronger_half")
    }
    assert kept == {"none": [1, 2, 3, 4], "first_per_author": [1, 3, 4], "stronger_half": [2, 3]}


def test_judges_of_messages() -> None:
    says = "We should ban human cloning"
    messages = [Message("q", text="I think that cloning people is cruel."), Message("q", text="I had soup for lunch.")]
    people = joined("made", [row(proposition=says, messages=messages)])
    with raises_error(DataError, got="messages without sides"):
        judged(people, EvidenceChoice(polarity="given"))
    with raises_error(DataError, got="without an option"):
        judged(people, EvidenceChoice(polarity="named"))
    with raises_error(DataError, got="messages without strengths"):
        judged(people, EvidenceChoice(strength="given"))
    found = judged(people, EvidenceChoice(strength="embedded"))
    assert (found.message.tolist(), found.polarity.tolist()) == ([0], [1.0])
    assert 0 < found.strength[0] < 1
    assert judged(people, EvidenceChoice(constant=0.3)).strength.tolist() == [0.3]
    choice = settled(people, EvidenceChoice())
    assert (choice.polarity, choice.strength, choice.theta) == ("embedded", "constant", EMBEDDER.theta)


def test_options_are_read_from_their_names() -> None:
    cases = {
        "A and 7": (1, 1), "so 7?": (0, 1), "we dont need 7": (0, -1), "A vowel has an even number": (0, 0),
        "card a": (1, 0), "a card": (0, 0), "@[A] why": (0, 0), "turn all of them": (1, 1), "not all of them": (-1, -1),
        "there are 17 ways": (0, 0), "": (0, 0),
    }  # fmt: skip
    texts = list(cases)
    found = zip(option_sides(texts, "A", ["7"]), option_sides(texts, "7", ["A"]), strict=True)
    assert dict(zip(texts, found, strict=True)) == cases
    assert option_sides(["A and 2", "hello"], "7", ["A", "2"], exclusive=True) == [-1, 0]


# --- stretches --------------------------------------------------------------------------------------------------


def test_steps_hold_each_event_once_between_the_answers_around_it() -> None:
    readings = [Reading(1, 0.3), Reading(3, -0.2)]
    messages = [Message("q", side, 0.5, f"m{k}") for k, side in enumerate((1.0, -1.0, 1.0, 1.0, -1.0))]
    rows = [row(messages=messages, readings=readings), row(participant="other", messages=messages[:2])]
    people = joined("made", rows)
    stream = stream_of(people, CHOICE)
    steps = by_step(people, stream)
    assert steps.person.tolist() == [0, 0, 0, 1]
    assert steps.initial.tolist() == [0.2, 0.3, -0.2, 0.2]
    assert steps.final.tolist() == [0.3, -0.2, 0.4, 0.4]
    assert np.diff(steps.rows.indptr).tolist() == [1, 2, 2, 2]
    total = np.bincount(steps.person, net_evidence(steps.rows))
    assert np.allclose(total, net_evidence(whole(people, stream).rows))


def test_a_record_of_an_earlier_step_counts_negative_where_it_is_put_out() -> None:
    messages = [Message("q", side, strength, text) for text, side, strength in SAID[:2]]
    people = joined("made", [row(messages=messages, readings=[Reading(1, 0.3)])])
    steps = by_step(people, stream_of(people, EvidenceChoice(theta=0.7)))
    assert net_evidence(steps.rows).tolist() == pytest.approx([0.4, 0.7 - 0.4])
    ends = predict_grid(steps.rows, grid_of("social_log_odds"), STANCE_MARGIN)
    assert np.isfinite(ends).all()


def test_no_evidence_leaves_the_start() -> None:
    people = joined("made", [row(messages=[Message("q", 0.0)])])
    spans = whole(people, stream_of(people, EvidenceChoice(polarity="given")))
    assert np.isnan(mean_shown(spans.rows)).all()
    for name in ("exposure", "averaging", "bounded_confidence"):
        assert (predict_grid(spans.rows, grid_of(name), STANCE_MARGIN) == 0.2).all()

"""Claims: once a post, by sign of what was declared or by the extractor; kinds, strengths, near-duplicates."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from evidence_world import NoParams, argue, end_step, judges_of, shown, square, take_in
from raised_errors import raises_error
from townsquare.beliefs.evidence.contract import Extractor, Found, StrengthJudge, Topics
from townsquare.beliefs.evidence.hashing import EMBEDDER, embed
from townsquare.beliefs.evidence.hashing import Params as HashingParams
from townsquare.beliefs.evidence.near import Vectors, cosines, near_pairs
from townsquare.core import schema
from townsquare.core.enums import Scorer
from townsquare.core.errors import ContractError, DataError, SettingError
from townsquare.settings.resolve import resolve
from townsquare.simulation.evidence import claims
from townsquare.simulation.world import World


def made(world: World, judges: claims.Judges) -> dict[str, schema.Columns]:
    return dict(world.append(claims.make(world, judges)))


def column(rows: schema.Columns, name: str) -> list:
    return np.asarray(rows[name]).tolist()


def test_a_declared_stance_gives_a_claim_by_its_sign_and_0_gives_none() -> None:
    world, judges = square(), judges_of(strength=0.3)
    argue(world, 3, "for", 0.2, 0.9)
    argue(world, 3, "neither", 0.0, 0.9)
    argue(world, 3, "against", -1.0, proposition=1)
    rows = made(world, judges)["claims"]
    assert column(rows, "post") == [0, 2]
    assert column(rows, "polarity") == [1, -1]
    assert column(rows, "proposition") == [0, 1]
    assert column(rows, "strength") == [0.9, 0.3]
    assert [world.texts[row] for row in column(rows, "text")] == ["for", "against"]
    assert world.posts["n_claims"].tolist() == [1, 0, 1]


def test_claims_are_made_once_a_post_and_reach_its_shares() -> None:
    world, judges = square(), judges_of()
    post = argue(world, 3, "a", 0.5, 0.5)
    take_in(world, shown(world, (0, post)), judges)
    end_step(world)
    share = argue(world, 0, "a", share_of=post)
    events = take_in(world, shown(world, (1, share), (2, post)), judges)
    assert world.claims.n == 1
    assert [(row["agent"], row["claim"], row["post"]) for row in events] == [(1, 0, share), (2, 0, post)]


def test_claims_reach_exactly_those_who_were_shown_their_post() -> None:
    world, judges = square(5), judges_of()
    posts = [argue(world, 5, f"text {k}", 0.5, 0.5) for k in range(3)]
    rows = [(0, posts[0]), (0, posts[2]), (3, posts[1])]
    events = take_in(world, shown(world, *rows), judges)
    assert [(row["agent"], row["post"]) for row in events] == rows


def test_what_a_text_scorer_measured_is_no_declaration() -> None:
    world, judges = square(), judges_of()
    argue(world, 3, "cheerful", 0.9, scorer=Scorer.TEXT)
    assert made(world, judges) == {}


def test_every_estimate_is_on_record_and_one_is_in_use() -> None:
    world, judges = square(), judges_of(strength=0.3)
    argue(world, 3, "given", 0.5, 0.9)
    argue(world, 3, "judged", 0.5)
    argue(world, 3, "given", 0.7, 0.9)
    rows = made(world, judges)
    table = rows["claim_strengths"]
    assert list(zip(*(column(table, name) for name in ("claim", "judge", "strength", "in_use")), strict=True)) == [
        (0, "given", 0.9, True),
        (0, "test", 0.3, False),
        (1, "test", 0.3, True),
    ]
    assert column(rows["claims"], "same_as") == [0, 1, 0]


# --- extractors --------------------------------------------------------------------------------------------


def words(messages: Sequence[str], topics: Topics, params: NoParams) -> Found:
    """One claim for each `yes` or `no` in a message; the number after it is the strength, `?` leaves it open."""
    rows = []
    for at, message in enumerate(messages):
        for word in message.split():
            side, _, strength = word.partition(":")
            if side in ("yes", "no"):
                number = np.nan if strength == "?" else float(strength)
                rows.append((at, 0, 1 if side == "yes" else -1, number, f"the claim {word}", word, "made"))
    if not rows:
        return Found.of([])
    message, proposition, polarity, strength, text, snippet, tag = zip(*rows, strict=True)
    return Found(
        np.array(message), np.array(proposition, np.int16), np.array(polarity, np.int8), np.array(strength, np.float64),
        text, snippet, tag,
    )  # fmt: skip


WORDS = Extractor("words", NoParams, words)


def test_an_extractor_finds_none_one_or_several_where_nothing_was_declared() -> None:
    world, judges = square(), judges_of(extractor=WORDS, strength=0.3)
    argue(world, 3, "yes:0.5 and no:?")
    argue(world, 3, "nothing here")
    argue(world, 3, "yes:0.9 but declared", -0.5, 0.4)
    argue(world, 0, "yes:0.5 and no:?")
    rows = made(world, judges)
    table = rows["claims"]
    assert column(table, "post") == [0, 0, 2, 3, 3]
    assert column(table, "polarity") == [1, -1, -1, 1, -1]
    assert column(table, "strength") == [0.5, 0.3, 0.4, 0.5, 0.3]
    assert column(table, "same_as") == [0, 1, 2, 0, 1]
    assert [world.texts[row] for row in column(table, "text")][:2] == ["the claim yes:0.5", "the claim no:?"]
    assert [world.texts[row] for row in column(table, "snippet")][:2] == ["yes:0.5", "no:?"]
    assert world.posts["n_claims"].tolist() == [2, 0, 1, 2]


def test_several_claims_of_one_post_reach_its_reader_in_order() -> None:
    world, judges = square(), judges_of(extractor=WORDS)
    post = argue(world, 3, "yes:0.5 and no:0.4")
    events = take_in(world, shown(world, (0, post)), judges)
    assert [(row["claim"], row["change"]) for row in events] == [(0, "accepted"), (1, "accepted")]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"polarity": np.array([0], np.int8)}, {"where": "claim 0", "got": "polarity ", "allowed": r"-1 or \+1"}),
        ({"strength": np.array([1.2])}, {"got": "strength"}),
        ({"proposition": np.array([7], np.int16)}, {"got": "proposition"}),
        ({"message": np.array([3])}, {"got": "message"}),
        ({"text": (" ",)}, {"got": "text"}),
        ({"text": ()}, {"allowed": "columns of one length"}),
    ],
)
def test_a_claim_that_cannot_be_one_is_told_of(changes: dict, said: dict[str, str]) -> None:
    good = Found(np.array([0]), np.array([0], np.int16), np.array([1], np.int8), np.array([0.5]), ("a",), ("",), ("",))
    extractor = Extractor("bad", NoParams, lambda messages, topics, params: good._replace(**changes))
    world = square()
    argue(world, 3, "something")
    with raises_error(ContractError, **said):
        claims.make(world, judges_of(extractor=extractor))


def test_a_judge_outside_its_range_is_told_of() -> None:
    judges = judges_of()
    bad = StrengthJudge("bad", NoParams, lambda texts, statements, params: np.full(len(texts), 1.5))
    world = square()
    argue(world, 3, "a", 0.5)
    with raises_error(ContractError, where="strength judge 'bad'"):
        claims.make(world, claims.Judges(judges.extractor, (bad, NoParams()), judges.vectors, judges.topics, 0.8, 0.5))


# --- near-duplicates ---------------------------------------------------------------------------------------


def test_near_duplicates_are_found_once_whenever_their_claims_come() -> None:
    vectors = {"a": [1, 0], "a2": [0.95, 0.3], "b": [0, 1], "a3": [0.97, 0.2]}
    world, judges = square(), judges_of(vectors, theta=0.9, theta_self=0.9)
    for text in ("a", "b", "a2"):
        argue(world, 3, text, 0.5, 0.5)
    take_in(world, shown(world), judges)
    end_step(world)
    argue(world, 3, "a3", 0.5, 0.5)
    argue(world, 3, "a", -0.5, 0.5)
    take_in(world, shown(world), judges)
    pairs = zip(*(world.near_duplicates[name].tolist() for name in ("claim", "other")), strict=True)
    assert sorted(pairs) == [(2, 0), (3, 0), (3, 2)]
    together = judges_of(vectors).vectors.of(["a", "b", "a2", "a3"])
    expected = cosines(together, [2, 3, 3], [0, 0, 2])
    assert sorted(world.near_duplicates["similarity"].tolist()) == sorted(expected.tolist())


def test_pairs_are_those_of_all_cosines() -> None:
    rng = np.random.default_rng(3)
    vectors = rng.normal(size=(200, 4))
    vectors = (vectors / np.linalg.norm(vectors, axis=1)[:, None]).astype(np.float32)
    texts = [f"text {k}" for k in range(200)]
    found = near_pairs(vectors, texts, 50, 0.9)
    unit = vectors.astype(np.float64)
    unit /= np.linalg.norm(unit, axis=1)[:, None]
    every = unit @ unit.T
    expected = {(i, j) for i in range(50, 200) for j in range(i) if every[i, j] >= 0.9}
    assert set(zip(found.later.tolist(), found.earlier.tolist(), strict=True)) == expected


def test_equal_texts_are_near_whatever_their_vectors() -> None:
    found = near_pairs(np.zeros((2, 3), np.float32), ["👍", "👍"], 0, 1.0)
    assert (found.later.tolist(), found.earlier.tolist(), found.similarity.tolist()) == ([1], [0], [1.0])


def test_an_embedder_that_gives_nonsense_is_told_of() -> None:
    vectors = judges_of({"a": [float("nan"), 0.0]}).vectors
    with raises_error(ContractError, where="embedder 'given vectors'"):
        vectors.of(["a"])


def test_hashing_finds_copies_and_light_paraphrases_and_nothing_else() -> None:
    texts = [
        "Polling stations are far away for people without a car.",
        "For people without a car, polling stations are too far away!",
        "A fine for not voting hits the poor hardest.",
        "",
    ]
    vectors = Vectors(EMBEDDER, HashingParams()).of(texts)
    like, unlike, empty = cosines(vectors, [0, 0, 0], [1, 2, 3])
    assert like > EMBEDDER.theta > unlike
    assert empty == 0
    assert (embed(texts, HashingParams())[0] == embed(texts[:1], HashingParams())[0]).all()


def test_vectors_can_be_given(tmp_path: Path) -> None:
    file = tmp_path / "vectors.jsonl"
    file.write_text('{"text": "a", "vector": [1, 0]}\n\n{"text": "b", "vector": [0.6, 0.8]}\n', encoding="utf-8")
    settings = resolve({"embedder": {"name": "given", "file": str(file)}, "evidence": {"theta": 0.6}})
    embedder, params = settings.members["embedder"], settings.params["embedder"]
    assert embedder.embed(["b", "a"], params).tolist() == [[0.6, 0.8], [1.0, 0.0]]
    with raises_error(DataError, got="no vector for 'c'"):
        embedder.embed(["c"], params)
    with raises_error(SettingError, where=r"embedder\.file"):
        embedder.embed(["a"], type(params)())


@pytest.mark.parametrize(
    "line", ['{"text": "a"}', "[1, 2]", "{", '{"text": "a", "vector": ["x"]}', '{"text": 1, "vector": [1]}']
)
def test_a_malformed_line_of_vectors_is_told_of(tmp_path: Path, line: str) -> None:
    file = tmp_path / "vectors.jsonl"
    file.write_text('{"text": "b", "vector": [1]}\n' + line, encoding="utf-8")
    settings = resolve({"embedder": {"name": "given", "file": str(file)}})
    with raises_error(DataError, where="line 2"):
        settings.members["embedder"].embed(["b"], settings.params["embedder"])

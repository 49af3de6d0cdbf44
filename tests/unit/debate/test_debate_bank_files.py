"""Argument banks from files: what loads, and one clear error for each way that one can be broken."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from raised_errors import raises_error
from townsquare.beliefs.evidence.bank_files import bundled_topics, load_bank
from townsquare.core.errors import DataError, UnknownName

AQR = "argument,topic,set,WA,MACE-P,stance_WA,stance_WA_conf\n"
OWN = "pool,side,text,stance,strength,tag\n"
TWO = OWN + "seed,pro,a,1,1,\ndebate,pro,b,1,1,\n"


def written(folder: Path, text: str, name: str = "bank.csv") -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def aqr(folder: Path, *rows: str) -> str:
    usual = [f"{word} {side},Tax it,train,0.{k}5,0.9,{side},1.0" for side in (1, -1) for k, word in enumerate("abc")]
    return written(folder, AQR + "\n".join([*usual, *rows]) + "\n")


@pytest.mark.parametrize("topic", bundled_topics(), ids=lambda topic: topic.slug)
def test_bundled_topics_have_thirty_arguments_a_side_and_pools_apart(topic):
    bank = load_bank(topic.slug)
    assert bank.statement == topic.statement
    for side in (1, -1):
        assert ((bank.polarity == side) & bank.seed).sum() >= 10
        assert (bank.polarity == side).sum() >= 30
    seeds = {text for text, seed in zip(bank.text, bank.seed, strict=True) if seed}
    assert not seeds & {text for text, seed in zip(bank.text, bank.seed, strict=True) if not seed}
    assert (np.sign(bank.stance) == bank.polarity).all()
    assert np.isfinite(bank.strength).all()


def test_the_columns_of_the_ibm_ranking_set(tmp_path):
    bank = load_bank(aqr(tmp_path))
    assert bank.statement == "Tax it"
    assert bank.polarity.tolist() == [1, 1, 1, -1, -1, -1]
    assert bank.strength.tolist() == [0.05, 0.15, 0.25, 0.05, 0.15, 0.25]
    assert bank.stance.tolist() == bank.polarity.tolist()
    assert bank.seed.sum() == 2


def test_pools_that_are_drawn_do_not_depend_on_the_order_of_rows(tmp_path):
    path = Path(aqr(tmp_path))
    bank = load_bank(str(path))
    head, *rows = path.read_text().splitlines()
    other = load_bank(written(tmp_path, "\n".join([head, *reversed(rows)]), "other.csv"))
    chosen = [{text for text, seed in zip(one.text, one.seed, strict=True) if seed} for one in (bank, other)]
    assert chosen[0] == chosen[1]


def test_key_point_arguments_without_quality(tmp_path):
    rows = [f"Tax it,{side},train,{word} {side}" for side in (1, -1) for word in "abc"]
    bank = load_bank(written(tmp_path, "topic,side,split,argument\n" + "\n".join(rows)))
    assert np.isnan(bank.strength).all()


def test_ranked_arguments_where_a_high_rank_is_weak(tmp_path):
    labels = [("no-never", 0.3), ("no-never", 0.1), ("yes-now", 0.02), ("yes-now", 0.01)]
    rows = [f"tax-it,{label},{rank},text {k}" for k, (label, rank) in enumerate(labels)]
    bank = load_bank(written(tmp_path, "debate,side_label,rank_score,argument\n" + "\n".join(rows)))
    assert bank.polarity.tolist() == [-1, -1, 1, 1]
    assert bank.strength.tolist() == [0.125, 0.375, 0.625, 0.875]


def test_labels_of_a_file_mean_what_is_said(tmp_path):
    rows = [f"books-or-tv,{label},0.1,{label} {k}" for label in ("tv", "books") for k in range(2)]
    path = written(tmp_path, "debate,side_label,rank_score,argument\n" + "\n".join(rows))
    assert load_bank(path, sides={"TV": 1, "books": -1}).polarity.tolist() == [1, 1, -1, -1]
    with raises_error(DataError, where=r"row 1 \(line 2\), column 'side_label'", got="'tv'"):
        load_bank(path)


def test_json_lines_load_too(tmp_path):
    rows = [f'{{"text": "{side} {k}", "side": "{side}", "stance": 0.5}}' for side in ("pro", "con") for k in range(2)]
    bank = load_bank(written(tmp_path, "\n".join(rows), "bank.jsonl"), "Tax it")
    assert bank.stance.tolist() == [0.5, 0.5, -0.5, -0.5]


def test_a_topic_is_chosen_or_asked_for(tmp_path):
    rows = [f"{k},{topic},{side}" for topic in ("One", "Two") for side in (1, -1) for k in "ab"]
    path = written(tmp_path, "argument,topic,stance_WA\n" + "\n".join(rows))
    assert load_bank(path, "Two").statement == "Two"
    with raises_error(DataError, got="no choice of topic", allowed="One; Two"):
        load_bank(path)
    with raises_error(DataError, do="did you mean 'Two'"):
        load_bank(path, "Tow")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("no side,Tax it,train,0.5,0.5,,1.0", {"where": r"row 7 \(line 8\), column 'stance_wa'", "got": "no polarity"}),
        ("neutral,Tax it,train,0.5,0.5,0,1.0", {"where": r"row 7 \(line 8\), column 'stance_wa'", "got": "'0'"}),
        (
            "strong,Tax it,train,1.5,0.5,1,1.0",
            {"where": r"row 7 \(line 8\), column 'wa'", "got": "'1.5'", "allowed": "a number from 0 to 1"},
        ),
        (",Tax it,train,0.5,0.5,1,1.0", {"where": r"row 7 \(line 8\), column 'argument'", "got": "nothing"}),
        ("short,Tax it", {"where": r"row 7 \(line 8\)", "got": "2 cells", "allowed": "7 cells"}),
    ],
)
def test_a_bad_row_is_named(tmp_path, row, message):
    with raises_error(DataError, **message):
        load_bank(aqr(tmp_path, row))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("side,text,strenght\npro,a,1\n", {"got": "the column 'strenght'", "do": "did you mean 'strength'"}),
        ("side,strength\npro,1\n", {"allowed": r"a column `text` \(or argument, claim, message\)"}),
        ("text,strength\na,1\n", {"allowed": r"a column `side` \(or stance_wa, polarity, side_label\)"}),
        (TWO + "seed,con,c,-1,1,\n", {"got": "no argument against the proposition in the pool debate"}),
        (TWO, {"got": "no argument against the proposition in the pool seed"}),
        (TWO.replace("a,1", "a,-1"), {"where": "row 1.*'stance'", "got": "-1", "allowed": "a stance with the sign"}),
        (OWN + "sed,pro,a,1,1,\n", {"where": "'pool'", "got": "'sed'", "allowed": "seed, debate", "do": "mean 'seed'"}),
        ("", {"got": "an empty file"}),
    ],
)  # fmt: skip
def test_a_broken_bank_is_one_clear_error(tmp_path, text, message):
    with raises_error(DataError, **message):
        load_bank(written(tmp_path, text), "Tax it")


def test_an_unknown_topic_has_a_nearest_one():
    with raises_error(UnknownName, do="did you mean 'austerity'"):
        load_bank("austertiy")


def test_a_file_that_is_not_there():
    with raises_error(DataError, got=r"nothing at 'nowhere\.csv'"):
        load_bank("nowhere.csv")

"""Thresholds of near-duplicates: chosen on paraphrase pairs, and what a file of such pairs must be."""

from __future__ import annotations

import json

import pytest

from raised_errors import raises_error
from townsquare.beliefs.evidence.hashing import EMBEDDER, Params
from townsquare.beliefs.evidence.near import Vectors
from townsquare.cli import main
from townsquare.core.errors import DataError
from townsquare.humans.judges.paraphrases import Level, bundled_pairs, calibrated, read_pairs

HEADER = "topic,side,text,paraphrase,near_miss\n"


@pytest.fixture(scope="module")
def bundled():
    return read_pairs(bundled_pairs())


def test_the_hashing_embedder_has_the_thresholds_that_the_bundled_pairs_choose(bundled):
    found = calibrated(bundled, Vectors(EMBEDDER, Params()))

    assert (found.theta, found.theta_self) == (EMBEDDER.theta, EMBEDDER.theta_self)
    at = {level.theta: level for level in found.held_out}
    assert at[found.theta].precision > 0.9
    assert at[found.theta].recall > 0.6
    assert at[found.theta_self].recall > at[found.theta].recall


def test_a_higher_threshold_never_finds_more(bundled):
    found = calibrated(bundled, Vectors(EMBEDDER, Params()))

    for levels in (found.chosen_on, found.held_out):
        reached, right = [level.reached for level in levels], [level.right for level in levels]
        assert reached == sorted(reached, reverse=True)
        assert right == sorted(right, reverse=True)


def test_pairs_stay_within_topic_and_side_and_a_near_miss_meets_its_argument_alone(tmp_path):
    file = tmp_path / "pairs.csv"
    file.write_text(HEADER + "tax,pro,a,b,c\ntax,pro,d,e,\ntax,con,f,g,\nbikes,pro,h,i,\n")

    pairs = read_pairs(file)

    named = {
        (pairs.texts[one] + pairs.texts[other], bool(same), bool(held))
        for one, other, same, held in zip(pairs.first, pairs.second, pairs.same, pairs.held_out, strict=True)
    }
    assert named == {
        ("ab", True, False), ("ac", False, False), ("ad", False, False), ("ae", False, False), ("bd", False, False),
        ("be", False, False), ("de", True, False), ("fg", True, False), ("hi", True, True),
    }  # fmt: skip


def test_precision_recall_and_f_by_hand():
    level = Level(0.5, reached=10, right=8, paraphrases=16)

    assert (level.precision, level.recall) == (0.8, 0.5)
    assert level.f(0.5) == pytest.approx(1.25 * 0.8 * 0.5 / (0.25 * 0.8 + 0.5))
    assert level.f(2.0) == pytest.approx(5 * 0.8 * 0.5 / (4 * 0.8 + 0.5))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("topic,side,text\nt,pro,a\n", {"allowed": "paraphrase"}),
        (HEADER, {"got": "no rows"}),
        (HEADER + "t,pro,a,,\n", {"where": "row 1 .line 2., column .paraphrase"}),
        ("topic,side,text,paraphrase,split\nt,pro,a,b,both\n", {"where": "split", "allowed": "calibrate, held out"}),
        ("topic,side,text,paraphrase,nearmiss\nt,pro,a,b,c\n", {"allowed": "near_miss"}),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_with_its_place(tmp_path, text, complaint):
    file = tmp_path / "pairs.csv"
    file.write_text(text)

    with raises_error(DataError, **complaint):
        read_pairs(file)


def test_the_command_measures_vectors_of_ones_own(tmp_path, capsys):
    pairs, vectors = tmp_path / "pairs.csv", tmp_path / "vectors.jsonl"
    pairs.write_text(HEADER + "tax,pro,a,b,c\ntax,pro,d,e,\n")
    angles = {"a": [1, 0, 0], "b": [1, 0.2, 0], "c": [1, 1, 0], "d": [0, 0, 1], "e": [0, 0.3, 1]}
    vectors.write_text("".join(json.dumps({"text": text, "vector": v}) + "\n" for text, v in angles.items()))

    code = main(
        ["check", "theta", str(pairs), "--set", "embedder=given", "--set", f"embedder.file={vectors}", "--json"]
    )

    found = json.loads(capsys.readouterr().out)
    assert code == 0
    assert found["theta"] == pytest.approx(
        0.95
    )  # below the cosines of both paraphrases, far above that of the near miss
    assert found["held_out"] == []
    assert {"theta": 0.7, "precision": 2 / 3, "recall": 1.0}.items() <= found["chosen_on"][13].items()


def test_the_table_names_the_chosen_thresholds(capsys):
    assert main(["check", "theta"]) == 0

    out = capsys.readouterr().out
    assert "160 pairs of paraphrases and 2,910 of others" in out
    assert f"theta: {EMBEDDER.theta:g} on these pairs" in out

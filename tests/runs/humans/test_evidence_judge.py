"""`check judge`: files by many names of columns, measures against hand-worked cases, three methods, errors in place."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import ClassVar

import numpy as np
import polars as pl
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from argument_tables import BAN, FUND, TEXTS, write_table
from raised_errors import raises_error
from repository import SHARED
from townsquare.cli import main
from townsquare.core.enums import PostKind
from townsquare.core.errors import DataError, RecordError, SettingError
from townsquare.humans.judges.argument_table import banks_by_topic, read_arguments
from townsquare.humans.judges.judge_report import HELD_OUT, IN_TOPIC, SHIPPED, judge_report
from townsquare.humans.judges.judge_scores import accuracy, macro_f1, pearson, spearman
from townsquare.humans.judges.label_sample import COLUMNS, sample_to_label

DATA = SHARED / "data" / "argument_quality"


def table(folder: Path, text: str, name: str = "arguments.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


# --- reading -----------------------------------------------------------------------------------------------


def test_columns_of_the_argument_quality_ranking(tmp_path: Path) -> None:
    path = table(
        tmp_path,
        "argument,topic,set,WA,MACE-P,stance_WA,stance_WA_conf\n"
        "Trees cool the street.,We should plant trees,train,0.8,0.9,1,1.0\n"
        "Roots break pipes.,We should plant trees,train,0.6,0.3,-1,0.9\n",
    )
    found = read_arguments(path)
    assert found.side.tolist() == [1.0, -1.0]
    assert found.quality.tolist() == [0.8, 0.6]
    assert read_arguments(path, quality="MACE-P").quality.tolist() == [0.9, 0.3]
    assert found.columns == {"topic": "topic", "side": "stance_wa", "text": "argument", "quality": "wa"}


def test_columns_of_ranked_arguments(tmp_path: Path) -> None:
    path = table(
        tmp_path,
        "debate,side_label,rank_score,argument\n"
        "is-tea-good-,yes-it-is,0.1,It warms.\nis-tea-good-,no-way,0.2,It stains.\nis-tea-good-,tea,0.3,Tea is tea.\n",
    )
    found = read_arguments(path)
    assert found.topics == ("is tea good",)
    assert found.side[:2].tolist() == [1.0, -1.0]
    assert math.isnan(found.side[2])
    assert found.quality.tolist() == [-0.1, -0.2, -0.3]


def test_words_for_sides_and_texts_without_an_argument(tmp_path: Path) -> None:
    path = table(
        tmp_path,
        "proposition;text;stance\nTea is good;It warms.;pro\nTea is good;Hello;none\nTea is good;No.;-0.4\n"
        "Tea is good;Hm.;0\n",
    )
    found = read_arguments(path)
    assert found.side.tolist() == [1.0, 0.0, -1.0, 0.0]
    assert np.isnan(found.quality).all()


def test_json_lines(tmp_path: Path) -> None:
    rows = [
        {"topic": BAN, "side": side, "argument": texts[0]} for (topic, side), texts in TEXTS.items() if topic == BAN
    ]
    path = table(tmp_path, "\n".join(map(json.dumps, rows)), "arguments.jsonl")
    assert read_arguments(path).side.tolist() == [1.0, -1.0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("topic,argument\nT,a\n", {"where": "header", "allowed": r"a column `side` \(or stance_wa"}),
        ("topic,side,argument\n", {"got": "no rows"}),
        ("topic,side,argument\nT,maybe,a\n", {"where": r"row 1 \(line 2\), column 'side'", "got": "'maybe'"}),
        ("topic,side,argument\nT,1,a\nT,,b\n", {"where": r"row 2 \(line 3\), column 'side'"}),
        ("topic,side,argument\nT,2,a\n", {"allowed": "from -1 to 1"}),
        ("topic,side,argument\nT,1,\n", {"where": "column 'argument'", "got": "nothing"}),
        ("topic,side,argument\n,1,a\n", {"where": "column 'topic'", "got": "nothing"}),
        ("topic,side,argument,quality\nT,1,a,high\n", {"where": "column 'quality'", "got": "'high'"}),
        ("topic,side,argument,quality\nT,1,a,inf\n", {"allowed": "a number from .*, or nothing"}),
        ("topic,side,argument\nT,1,a,b\n", {"got": "4 cells"}),
    ],
)
def test_errors_name_the_place(tmp_path: Path, text: str, said: dict[str, str]) -> None:
    with raises_error(DataError, **said):
        read_arguments(table(tmp_path, text))


def test_a_bank_needs_both_sides(tmp_path: Path) -> None:
    path = table(tmp_path, "topic,side,argument\nT,1,a\nT,1,b\n")
    with raises_error(DataError, got="no argument against it"):
        banks_by_topic(read_arguments(path))
    with raises_error(DataError, allowed="."):
        read_arguments(path, quality="rating")


# --- measures ----------------------------------------------------------------------------------------------


def test_measures_on_a_hand_worked_case() -> None:
    side = np.array([1.0, 1.0, 1.0, -1.0, 0.0, np.nan])
    said = np.array([1.0, -1.0, 1.0, -1.0, 1.0, 1.0])
    assert accuracy(side, said) == 0.75
    # for: 2 right of 3 true and 2 said; against: 1 right of 1 true and 2 said
    assert macro_f1(side, said) == pytest.approx((0.8 + 2 / 3) / 2)
    assert math.isnan(accuracy(np.array([0.0]), np.array([1.0])))


@given(arrays.arrays(np.int8, st.tuples(st.just(2), st.integers(3, 30)), elements=st.integers(-5, 5)))
def test_correlations_are_those_of_scipy(pair: np.ndarray) -> None:
    one, other = pair.astype(np.float64)
    if one.std() == 0 or other.std() == 0:
        assert math.isnan(pearson(one, other))
    else:
        assert pearson(one, other) == pytest.approx(scipy.stats.pearsonr(one, other).statistic, abs=1e-9)
        assert spearman(one, other) == pytest.approx(scipy.stats.spearmanr(one, other).statistic, abs=1e-9)
    assert math.isnan(pearson(one[:2], other[:2]))


# --- the report --------------------------------------------------------------------------------------------


def test_a_report_has_three_methods_three_baselines_and_every_topic(tmp_path: Path) -> None:
    found = judge_report(write_table(tmp_path / "a.csv"))
    assert [scores.method for scores in found.overall] == [
        SHIPPED, IN_TOPIC, HELD_OUT, "majority", "sentiment", "length"
    ]  # fmt: skip
    assert [(scores.topic, scores.method) for scores in found.by_topic] == [
        (topic, method) for topic in (BAN, FUND) for method in (SHIPPED, IN_TOPIC, HELD_OUT)
    ]
    for scores in found.overall[:3]:
        assert scores.extraction == pytest.approx(scores.exact_one + scores.over_split)
        assert 0 <= scores.false_claims <= 1
        assert 0 <= scores.accuracy <= 1
        assert -1 <= scores.pearson <= 1
    assert found.overall[3].accuracy == 0.5
    assert math.isnan(found.overall[3].pearson)
    assert found.n == 28
    assert not any("was fitted on" in notice for notice in found.notices)


def test_a_report_repeats(tmp_path: Path) -> None:
    path = write_table(tmp_path / "a.csv")
    assert repr(judge_report(path)) == repr(judge_report(path))


def test_a_bank_is_used_as_shipped(tmp_path: Path) -> None:
    path = write_table(tmp_path / "a.csv")
    without, given_bank = judge_report(path).overall[0], judge_report(path, bank=path).overall[0]
    assert given_bank.accuracy == 1.0
    assert given_bank.extraction > without.extraction


def test_one_topic_cannot_be_held_out(tmp_path: Path) -> None:
    rows = "".join(f'{BAN},{side},"{text}"\n' for side in (1, -1) for text in TEXTS[BAN, side])
    found = judge_report(table(tmp_path, "topic,side,argument\n" + rows))
    assert [scores.method for scores in found.overall[:2]] == [SHIPPED, IN_TOPIC]
    assert any("nothing can be held out" in notice for notice in found.notices)
    assert any("no column of ratings" in notice for notice in found.notices)


def test_texts_without_an_argument_count_as_false_claims_only(tmp_path: Path) -> None:
    rows = f'"{BAN}",none,Good morning all.\n"{BAN}",pro,Night flights ruin sleep.\n"{BAN}",none,Night flights again.\n'
    shipped = judge_report(table(tmp_path, "topic,side,argument\n" + rows)).overall[0]
    assert (shipped.extraction, shipped.false_claims) == (1.0, 0.5)


def test_topics_that_the_judges_were_fitted_on_are_named(tmp_path: Path) -> None:
    rows = "We should ban human cloning,1,Cloning is wrong.\nWe should ban human cloning,-1,Cloning heals.\n"
    found = judge_report(table(tmp_path, "topic,side,argument\n" + rows))
    assert any("polarity judge was fitted on all" in notice for notice in found.notices)


def test_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_table(tmp_path / "a.csv")
    assert main(["check", "judge", str(path), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["n"] == 28
    assert said["overall"][0]["method"] == SHIPPED
    assert main(["check", "judge", str(path)]) == 0
    out = capsys.readouterr().out
    assert "0.969" in out
    assert BAN in out
    assert main(["check", "judge", str(tmp_path / "none.csv")]) == 2
    assert main(["check", "judge"]) == 2


# --- a sample to label -------------------------------------------------------------------------------------


class MadeRun:
    """The tables that a sample reads, of a run of three posts, one of them shared."""

    settings: ClassVar[dict[str, object]] = {}
    last_step, state, content_hash = 1, "finished", ""

    def table(self, name: str) -> pl.DataFrame:
        return {
            "texts": pl.DataFrame({"text": [0, 1, 2], "content": ["Tea warms.", "=1+1", "Unused."]}),
            "propositions": pl.DataFrame({"text": ["Tea is good", "Tea is cheap"]}),
            "posts": pl.DataFrame(
                {
                    "post": [0, 1, 2],
                    "kind": [int(PostKind.INJECTED), int(PostKind.SHARE), int(PostKind.ORIGINAL)],
                    "text": [0, 0, 1],
                }
            ),
        }[name]


def test_a_sample_holds_each_written_text_once_a_proposition() -> None:
    rows = sample_to_label(MadeRun(), 10)  # type: ignore[arg-type]
    assert tuple(rows.columns) == COLUMNS
    assert sorted(rows.select("topic", "argument").rows()) == sorted(
        (topic, text) for topic in ("Tea is good", "Tea is cheap") for text in ("Tea warms.", " =1+1")
    )
    assert set(rows["side"]) == {""}
    assert sample_to_label(MadeRun(), 1).height == 2  # type: ignore[arg-type]
    with pytest.raises(SettingError):
        sample_to_label(MadeRun(), 0)  # type: ignore[arg-type]


def test_a_run_without_words_gives_no_sample() -> None:
    class Silent(MadeRun):
        def table(self, name: str) -> pl.DataFrame:
            return super().table(name).clear() if name == "posts" else super().table(name)

    with raises_error(RecordError, got="no texts"):
        sample_to_label(Silent(), 3)  # type: ignore[arg-type]


def test_a_recorded_run_is_sampled_labeled_and_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "run"
    assert main(["run", "health-rumor@1", "--agents", "30", "--steps", "2", "--out", str(run), "--quiet"]) == 0
    sample = tmp_path / "sample.csv"
    assert main(["check", "judge", "--sample", str(run), "--out", str(sample), "--texts", "6"]) == 0
    assert main(["check", "judge", "--sample", str(run), "--out", str(sample)]) == 2  # may contain labels
    with sample.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for row, side in zip(rows, ["pro", "con", "none"] * 4, strict=True):
        row["side"] = side
    with sample.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    capsys.readouterr()
    assert main(["check", "judge", str(sample), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["n"] == 12


# --- the files it was made on ------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.skipif(not DATA.is_dir(), reason="the data are not beside the repository")
def test_it_beats_the_first_look_on_rated_arguments() -> None:
    found = {scores.method: scores for scores in judge_report(DATA / "ibm_argq_5k.csv").overall}
    assert found[IN_TOPIC].pearson > 0.40
    assert found[HELD_OUT].pearson > 0.30
    assert found["length"].pearson < 0.10
    assert found[IN_TOPIC].accuracy > 0.76
    assert found[HELD_OUT].accuracy > 0.62


@pytest.mark.slow
@pytest.mark.skipif(not DATA.is_dir(), reason="the data are not beside the repository")
def test_it_beats_the_first_look_on_polarity() -> None:
    found = {scores.method: scores for scores in judge_report(DATA / "ibm_kpa_arguments.csv").overall}
    assert found[IN_TOPIC].accuracy > 0.89
    assert found[IN_TOPIC].exact_one > 0.95
    assert found[HELD_OUT].accuracy > 0.80
    assert found["sentiment"].accuracy < 0.55

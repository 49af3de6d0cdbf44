"""From the answers of a survey to personas and into a run: 50 made respondents, and what is refused."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from raised_errors import raises_error
from townsquare.cli import main
from townsquare.core.errors import DataError
from townsquare.record.run import Run
from townsquare.scenario.population.personas import missing_attributes, read_personas
from townsquare.scenario.population.question_bank import NO_ANSWER, QuestionBank, bundled_bank
from townsquare.scenario.population.sample import sample_people
from townsquare.scenario.population.survey import Survey, personas_from_survey
from townsquare.settings.config import Population

MAPPING = """
id: Participant
missing: [N/A]
columns:
  How old are you?: {trait: age}
  Sex: {trait: gender, values: {m: Male, f: Female, "-": null}}
  politics: {trait: political_affiliation}
  "Faith (1 not at all, 5 very)": {trait: religious_beliefs, bands: {"1": Atheist, 2-3: Agnostic, 4-5: Religious}}
  "Flu shots are safe, 1 to 7": {stance: vaccine_safe, scale: [1, 7]}
  Offer shots at schools: {stance: campaign_worthwhile, values: {"yes": 0.8, "no": -0.8, unsure: null}}
  What matters to you?: {text: "Asked what matters to me, I wrote: {value}"}
"""
COLUMNS = [
    "Participant", "How old are you?", "Sex", "politics", "Faith (1 not at all, 5 very)", "Flu shots are safe, 1 to 7",
    "Offer shots at schools", "What matters to you?", "Minutes",
]  # fmt: skip
POLITICS = ("liberal", "Conservative", "MODERATE", "Libertarian", "Apolitical")


def row(k: int) -> list[str]:
    """The k-th made respondent."""
    return [
        f"P{k:02}", str(18 + (k * 7) % 43), "mf-"[k % 3], POLITICS[k % 5], str(1 + k % 5), str(1 + (k * 3) % 7),
        ("yes", "No", "unsure")[k % 3], f'My "garden", and the {k} birds in it.' if k % 4 else "N/A", str(k),
    ]  # fmt: skip


ROWS = [row(k) for k in range(50)]


@pytest.fixture(scope="module")
def bank() -> QuestionBank:
    return bundled_bank()


def write(folder: Path, rows: list[list[str]], mapping: str = MAPPING) -> tuple[Path, Path]:
    with (folder / "answers.csv").open("w", encoding="utf-8", newline="") as out:
        csv.writer(out).writerows([COLUMNS, *rows])
    (folder / "mapping.yaml").write_text(mapping, encoding="utf-8")
    return folder / "answers.csv", folder / "mapping.yaml"


def made(folder: Path, rows: list[list[str]] = ROWS, mapping: str = MAPPING, *, skip_bad: bool = False) -> Survey:
    return personas_from_survey(*write(folder, rows, mapping), bundled_bank(), skip_bad=skip_bad)


def changed(k: int, column: str, cell: str) -> list[list[str]]:
    """All rows, with another cell in the k-th."""
    rows = [list(cells) for cells in ROWS]
    rows[k][COLUMNS.index(column)] = cell
    return rows


# --- fifty respondents -------------------------------------------------------------------------------------


def test_fifty_answers_become_fifty_personas(tmp_path: Path, bank: QuestionBank) -> None:
    survey = made(tmp_path)
    people = survey.personas
    assert (len(people), survey.left_out, survey.unused) == (50, (), ("minutes",))
    assert people.ids == tuple(cells[0] for cells in ROWS)
    codes = {label: people.traits[:, bank.number_of(label)] for label in bank.labels}
    assert codes["age"].tolist() == [int(cells[1]) for cells in ROWS]
    assert np.bincount(codes["gender"] + 1).tolist() == [16, 17, 17]  # no answer, Male, Female
    assert bank.answer(bank.number_of("political_affiliation"), int(codes["political_affiliation"][2])) == "Moderate"
    faith = [bank.answer(bank.number_of("religious_beliefs"), int(code)) for code in codes["religious_beliefs"][:5]]
    assert faith == ["Atheist", "Agnostic", "Agnostic", "Religious", "Religious"]
    assert (codes["hobby"] == NO_ANSWER).all()
    assert people.stance["vaccine_safe"][:3].tolist() == pytest.approx([-1, 0, 1])
    assert people.stance["campaign_worthwhile"][:2].tolist() == [0.8, -0.8]
    assert np.isnan(people.stance["campaign_worthwhile"][2])


def test_every_answer_is_in_the_persona(tmp_path: Path, bank: QuestionBank) -> None:
    people = made(tmp_path).personas
    for codes, text in zip(people.traits, people.texts, strict=True):
        assert missing_attributes(text, codes, bank) == []
    assert people.texts[1].endswith('Asked what matters to me, I wrote: My "garden", and the 1 birds in it.')
    assert "Asked" not in people.texts[4]


def test_end_to_end_into_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers, mapping = write(tmp_path, ROWS)
    monkeypatch.chdir(tmp_path)
    assert main(["personas", "from-survey", str(answers), "--mapping", str(mapping), "--out", "people.jsonl"]) == 0
    words = ["run", "health-rumor@1", "--agents", "50", "--steps", "3", "--out", "out", "--quiet"]
    assert main([*words, "--set", "population.file=people.jsonl", "--set", "growth.max_per_step=0"]) == 0
    run = Run.open(Path("out"))
    content = run.table("texts")["content"]
    agents = run.table("agents").head(50)
    assert [content[name] for name in agents["name"]] == [cells[0] for cells in ROWS]
    start = run.table("beliefs", (0, 0)).sort("agent", "proposition")
    safe = start.filter(pl.col("proposition") == 0)["stance"].to_list()
    assert safe == pytest.approx([(int(cells[5]) - 4) / 3 for cells in ROWS])
    campaign = start.filter(pl.col("proposition") == 1)["stance"].to_list()
    assert campaign[:2] == [0.8, -0.8]
    drawn = sample_people(0, 50, Population(), ("vaccine_safe", "campaign_worthwhile"), 1).stance[:, 1]
    assert campaign[2] == pytest.approx(drawn[2])  # unsure: drawn as for others
    ages = run.table("traits").filter(pl.col("trait") == 0).sort("agent")["value"].to_list()
    assert ages == [int(cells[1]) for cells in ROWS]


def test_a_survey_is_read_by_the_bank_that_is_set(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answers, mapping, out = tmp_path / "answers.csv", tmp_path / "mapping.yaml", tmp_path / "people.jsonl"
    answers.write_text("home,w\nVillage,1\ncity,2\n", encoding="utf-8")
    mapping.write_text("{weight: w, columns: {home: {trait: settlement}}}", encoding="utf-8")
    words = ["personas", "from-survey", str(answers), "--mapping", str(mapping), "--out", str(out)]
    assert main([*words, "--set", "population.bank=parliamentary"]) == 0
    assert "personas have no survey weights" in capsys.readouterr().err
    lines = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert [line["labels"] for line in lines] == [{"settlement": "village"}, {"settlement": "city"}]
    posts, bank = tmp_path / "posts.csv", ["--set", "population.bank=parliamentary"]
    posts.write_text("text\nThe ferry is late.\n", encoding="utf-8")
    assert main(["panel", str(posts), str(out), "--out", str(tmp_path / "panel"), *bank]) == 0
    again = tmp_path / "again.jsonl"
    assert main(["personas", "rewrite", str(out), "--out", str(again), "--model", "fake", *bank]) == 0
    assert [json.loads(line)["labels"] for line in again.read_text(encoding="utf-8").splitlines()] == [
        line["labels"] for line in lines
    ]


def test_personas_are_read_back_as_they_were_written(tmp_path: Path, bank: QuestionBank) -> None:
    answers, mapping = write(tmp_path, ROWS)
    out = tmp_path / "people.jsonl"
    assert main(["personas", "from-survey", str(answers), "--mapping", str(mapping), "--out", str(out)]) == 0
    people, again = made(tmp_path).personas, read_personas(out, bank)
    assert again.ids == people.ids
    assert again.texts == people.texts
    assert np.array_equal(again.traits, people.traits)
    for name, stance in people.stance.items():
        assert np.array_equal(again.stance[name], stance, equal_nan=True)
    line = json.loads(out.read_text(encoding="utf-8").splitlines()[0])
    assert set(line) == {"id", "text", "labels", "stance"}  # and nothing else of what people answered


def test_jsonl_and_parquet_are_the_same(tmp_path: Path, bank: QuestionBank) -> None:
    answers, mapping = write(tmp_path, ROWS)
    frame = pl.read_csv(answers)
    frame.write_parquet(tmp_path / "answers.parquet")
    frame.write_ndjson(tmp_path / "answers.jsonl")
    expected = personas_from_survey(answers, mapping, bank).personas
    for ending in ("parquet", "jsonl"):
        found = personas_from_survey(tmp_path / f"answers.{ending}", mapping, bank).personas
        assert found.texts == expected.texts
        assert np.array_equal(found.traits, expected.traits)


def test_rows_under_the_header_can_be_skipped(tmp_path: Path) -> None:
    """As exports of Qualtrics have them: the questions in full, then ids of import."""
    extra = [["question"] * len(COLUMNS), ["{}"] * len(COLUMNS)]
    people = made(tmp_path, [*extra, *ROWS[:3]], MAPPING.replace("missing:", "skip_rows: 2\nmissing:")).personas
    assert people.ids == ("P00", "P01", "P02")


def test_without_ids_people_are_called_by_their_row(tmp_path: Path) -> None:
    mapping = MAPPING.replace("id: Participant\n", "")
    survey = made(tmp_path, changed(1, "Sex", "?"), mapping, skip_bad=True)
    assert survey.personas.ids[:2] == ("row-1", "row-3")
    assert "participant" in survey.unused


# --- what is refused ---------------------------------------------------------------------------------------

BAD_CELLS = [
    ("How old are you?", "old", {"got": "'old'", "allowed": "a whole number from 0 to 120"}),
    ("How old are you?", "44.5", {"got": "'44.5'"}),
    ("Sex", "male-ish", {"got": "'male-ish'", "allowed": "m, f, -, Male"}),
    ("politics", "Librul", {"got": "'Librul'", "do": "did you mean 'Liberal'"}),
    ("Faith (1 not at all, 5 very)", "9", {"allowed": "a number in one of the bands 1 to 1, 2 to 3, 4 to 5"}),
    (
        "Faith (1 not at all, 5 very)",
        "a lot",
        {"got": "'a lot'", "allowed": "a number in one of the bands ", "do": "translate words"},
    ),
    ("Flu shots are safe, 1 to 7", "8", {"allowed": "a number from 1 to 7"}),
    ("Offer shots at schools", "perhaps", {"allowed": "yes, no, unsure"}),
    ("Participant", "P00", {"got": "'P00' again"}),
    ("Participant", "", {"got": "nothing"}),
    ("What matters to you?", "x" * 10_001, {"got": "10,001 characters"}),
]


@pytest.mark.parametrize(("column", "cell", "says"), BAD_CELLS)
def test_a_bad_cell_is_named_or_left_out_and_counted(
    tmp_path: Path, column: str, cell: str, says: dict[str, str]
) -> None:
    rows = changed(7, column, cell)
    with raises_error(DataError, **says) as error:
        made(tmp_path, rows)
    assert f"answers.csv, row 8 (line 9), column {column.lower()!r}" in str(error.value)
    survey = made(tmp_path, rows, skip_bad=True)
    assert len(survey.personas) == 49
    assert survey.left_out == (str(error.value),)


def test_a_row_without_answers(tmp_path: Path) -> None:
    rows = [[cells[0], *[""] * 7, "3"] if k == 3 else cells for k, cells in enumerate(ROWS)]
    with raises_error(DataError, where=r"row 4 \(line 5\)", got="no usable answer"):
        made(tmp_path, rows)


def test_no_row_is_left(tmp_path: Path) -> None:
    with raises_error(DataError, got="no row that gives a persona", do="row 1"):
        made(tmp_path, changed(0, "Sex", "?")[:1], skip_bad=True)


BAD_MAPPINGS = [
    ("", "columns: got nothing"),
    ("columns: {}", "columns"),
    ("columns: {Sex: {trait: gendre}}", "column 'Sex': got 'gendre'.*did you mean 'gender'"),
    ("columns: {Sex: {trait: gender, values: {m: Mal}}}", "got 'Mal'.*did you mean 'Male'"),
    ("columns: {Sex: {trait: gender, valeus: {m: Male}}}", "'valeus'.*did you mean 'values'"),
    ("columns: {Sexx: {trait: gender}}", "column 'Sexx': got 'Sexx'.*did you mean 'sex'"),
    ("columns: {Sex: {}}", "column 'Sex': got none; allowed: one of trait, stance and text"),
    ("columns: {Sex: {trait: gender, text: '{value}'}}", "got trait and text"),
    ("columns: {Sex: {text: 'no place for it'}}", "a sentence with {value} once"),
    ("columns: {Sex: {trait: gender}, politics: {trait: gender}}", "column 'politics': got 'gender' again"),
    ("columns: {Sex: {stance: tax}}", "either `scale: .* or `values`"),
    ("columns: {Sex: {stance: tax, scale: [3, 3]}}", "two different numbers"),
    ("columns: {Sex: {stance: tax, values: {m: 2}}}", "a number from -1 to 1"),
    ("columns: {Sex: {trait: age, scale: [1, 5]}}", "only stances have one"),
    ("columns: {Sex: {trait: gender, bands: {1-3: Male, 3-5: Female}}}", "which is in two bands"),
    ("columns: {Sex: {trait: gender, bands: {low: Male}}}", "a range such as 1-2, or 4"),
    ("columns: {Sex: {trait: gender, values: {m: Male}, bands: {1: Male}}}", "no `values` beside them"),
    ("columns: {Sex: {trait: gender, values: {m: true}}}", "values.m.*got True"),
    ("columns: {Sex: {trait: gender}}\nid: Who", "id: got 'Who'"),
    ("columns: {Sex: {trait: gender}}\nskip_rows: -1", "skip_rows: got -1"),
    ("colunms: {Sex: {trait: gender}}", "'colunms'.*did you mean 'columns'|columns: got nothing"),
    ("columns: {Sex: [trait", "plain YAML"),
]


@pytest.mark.parametrize(("mapping", "says"), BAD_MAPPINGS)
def test_a_bad_mapping_is_named(tmp_path: Path, mapping: str, says: str) -> None:
    with pytest.raises(DataError, match=says) as error:
        made(tmp_path, mapping=mapping)
    assert "mapping.yaml" in str(error.value)

"""From two CSV files to a report in three commands: `townsquare init --from --survey`, `run`, `compare`."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

from made_surveys import HEADLINES, ITEM, write_headlines, write_large_survey, write_small_survey
from townsquare.cli import main
from townsquare.core.documents import read_yaml
from townsquare.record.run import Run
from townsquare.scenario.load import load_scenario
from townsquare.scenario.population.sample import sample_people, survey_of
from townsquare.scenario.settings import resolve_for

NAME = "old_bridge_replaced"
FEW = ["--agents", "120", "--steps", "30", "--quiet", "--set", "time.warm_up_hours=2"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_headlines(tmp_path)
    write_small_survey(tmp_path)
    write_large_survey(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_forty_respondents_from_two_files_to_a_report(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "bridge", "--from", "headlines.csv", "--survey", "answers.csv", "--yes"]) == 0
    said = capsys.readouterr().out
    for guess in ("survey weights", "categorical trait party", "never, once, twice", "a scale from 1 to 7", "not used"):
        assert guess in said
    mapping = read_yaml(folder / "bridge" / "mapping.yaml")
    assert isinstance(mapping, dict)
    assert mapping["posts"] == {"Headline": "text", "is_true": "veracity", "stance": f"stance:{NAME}"}
    assert "E-mail" not in (folder / "bridge" / "answers.csv").read_text(encoding="utf-8")
    assert (mapping["columns"][ITEM]["scale"], mapping["waves"]) == ([1, 7], {"2": 168})
    scenario = load_scenario("./bridge")
    assert [proposition.text for proposition in scenario.propositions] == [
        "The old bridge should be replaced.", "Ferries are enough.",
    ]  # fmt: skip
    population = resolve_for("./bridge").config.population
    people = survey_of(population, folder / "bridge").personas
    for name, stance in people.stance.items():  # missing stances are drawn as weighted respondents answered
        known = ~np.isnan(stance)
        mean = np.average(stance[known], weights=people.weight[known])
        assert population.stance[name].mean == pytest.approx(mean, abs=5.1e-4)
    assert main(["run", "./bridge", "--out", "one", *FEW]) == 0
    run = Run.open(Path("one"))
    assert (Path("one") / "report.html").is_file()
    names = run.table("texts")["content"]
    assert all(names[row].startswith("R_") for row in run.table("agents")["name"][:120])
    assert set(run.table("trait_values")["label"]) >= {"party", "vaccinated", "income", "age_group"}
    arms = ["--vary", "moderation.response=none,label", "--seeds", "1", "--workers", "1"]
    assert main(["compare", "./bridge", "--out", "arms", *arms, *FEW]) == 0
    assert (Path("arms") / "report.html").is_file()


def test_columns_that_look_personal_are_not_copied(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    personal = ("Telephone number", "Mobile phone", "Street address", "Postal address", "Given name", "Date of birth")
    with Path("answers.csv").open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    with Path("more.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerow([*head, *personal, "Mobile phone use"])
        csv.writer(file).writerows([*row, *("private" for _ in personal), "daily"] for row in rows)
    assert main(["init", "more", "--from", "headlines.csv", "--survey", "more.csv", "--yes"]) == 0
    said, copied = capsys.readouterr().out, (folder / "more" / "answers.csv").read_text(encoding="utf-8")
    assert all(name in said and name not in copied.replace("Mobile phone use", "") for name in personal)
    assert "private" not in copied
    assert "Mobile phone use" in copied


def test_a_thousand_agents_meet_margins_within_a_point(folder: Path) -> None:
    assert main(["init", "bridge", "--from", "headlines.csv", "--survey", "answers.csv", "--yes"]) == 0
    margins = {
        "party": {"Union": 0.4, "Die Linke": 0.25, "Grüne": 0.35},
        "vaccinated": {"never": 0.3, "once to twice": 0.5, "no answer": 0.2},
        "income": {"0-2000": 0.4, "2000.5+": 0.6},
    }
    settings = resolve_for("./bridge", sets={"population.margins": margins})
    scenario = load_scenario("./bridge")
    made = sample_people(0, 1000, settings.config.population, scenario.proposition_names, 1, folder=scenario.folder)
    worst = 0.0
    for label, shares in margins.items():
        trait = made.bank.number_of(label)
        codes = made.traits[:, trait]
        base = np.ones(1000, bool) if "no answer" in shares else codes >= 0
        for answer, share in shares.items():
            low, high = made.bank.span(label, answer)
            worst = max(worst, abs(float(np.mean((codes[base] >= low) & (codes[base] <= high))) - share))
    assert worst < 0.01
    assert main(["personas", "describe", "./bridge", "--n", "1000", "--set", f"population.margins={margins}"]) == 0


def test_an_export_of_four_hundred_with_mistakes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "flu", "--from", "headlines.csv", "--survey", "export.csv", "--yes", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    read = {guess["column"]: guess["meaning"] for guess in told["columns"]}
    assert read["StartDate"] is None
    assert read["age"]["kind"] == "numeric"
    assert told["propositions"] == ["flu_shots_safe"]  # the question in full: Flu shots are safe
    mapping = read_yaml(folder / "flu" / "mapping.yaml")
    assert isinstance(mapping, dict)
    assert (mapping["skip_rows"], mapping["missing"], mapping["id"]) == (2, ["-99"], "ResponseId")
    # Whoever knows the scale says so in the mapping; answers beyond it are counted.
    path = folder / "flu" / "mapping.yaml"
    text = path.read_text(encoding="utf-8").replace("- 1\n    - 10\n", "- 1\n    - 5\n")
    path.write_text(text, encoding="utf-8")
    assert main(["run", "./flu", "--out", "two", *FEW[:-3], "--set", "time.warm_up_hours=2"]) == 0
    assert "answers to 'flu_shots_safe' read as missing: got '9'" in capsys.readouterr().err
    assert (Path("two") / "report.html").is_file()


def test_propositions_are_asked_for(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr("sys.stdin", Terminal("2\n"))
    assert main(["init", "asked", "--from", "headlines.csv", "--survey", "answers.csv"]) == 0
    scenario = load_scenario("./asked")
    assert scenario.proposition_names == ("ferries_enough",)
    read = survey_of(resolve_for("./asked").config.population, scenario.folder)
    assert read is not None
    assert NAME in read.bank.labels  # the other item is a trait
    monkeypatch.setattr("sys.stdin", Terminal("Cats are better than dogs.\n"))
    assert main(["init", "stated", "--from", "headlines.csv"]) == 0
    assert load_scenario("./stated").propositions[0].text == "Cats are better than dogs."


def test_waves_in_two_files_are_joined_by_id(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "one.csv").write_text(
        "id,Cats are good animals,Name,City\na,1,Ann,x\nb,2,Bob,y\nc,5,Cy,x\n", encoding="utf-8"
    )
    (folder / "two.csv").write_text(
        "id,Cats are good animals,Name,City\nb,4,Bob,y\na,3,Ann,y\nz,1,Zoe,x\n", encoding="utf-8"
    )
    words = ["init", "cats", "--from", "headlines.csv", "--survey", "one.csv", "--survey", "two.csv", "--yes"]
    assert main(words) == 0
    assert "wave 2: 2 of 3 respondents answered again; 1 new ones left out" in capsys.readouterr().err
    read = survey_of(resolve_for("./cats").config.population, folder / "cats")
    assert read is not None
    again = read.waves[2, "cats_good_animals"]
    assert again.tolist()[:2] == pytest.approx([0.0, 0.5])
    assert np.isnan(again[2])
    assert read.bank.labels == ("city",)
    assert "Ann" not in (folder / "cats" / "answers.csv").read_text(encoding="utf-8")


def test_tables_of_a_spreadsheet_with_semicolons(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Decimal commas, a column of truth by another name, question numbers, 99 for no answer."""
    posts = ["Text der Meldung;Stimmt das?", *(f"{text};{str(bool(true)).lower()}" for text, true in HEADLINES)]
    (folder / "meldungen.csv").write_text("\ufeff" + "\n".join(posts), encoding="utf-8")
    rows = [
        f"{k};{k % 3 + 1},5;{('18', '40,5', '')[k % 3]};{(1, 3, 5, 99)[k % 4]};{k % 2 + 1},{k % 3}" for k in range(24)
    ]
    head = "ID;Gewicht;Hours online;Q3. The council can be trusted;Channels"
    rows[0] = rows[0].rpartition(";")[0] + ";1,2,3"
    (folder / "panel.csv").write_text("\n".join([head, *rows]), encoding="utf-8")
    assert main(["init", "zone", "--from", "meldungen.csv", "--survey", "panel.csv", "--yes"]) == 0
    said = capsys.readouterr()
    assert "99 is no answer" in said.out
    assert "6 answers to 'q3. the council can be trusted' read as missing: got '99'" in said.err
    mapping = read_yaml(folder / "zone" / "mapping.yaml")
    assert isinstance(mapping, dict)
    assert mapping["posts"] == {"Text der Meldung": "text", "Stimmt das?": "veracity"}
    assert mapping["weight"] == "Gewicht"
    item = mapping["columns"]["Q3. The council can be trusted"]
    assert item == {"stance": "council_can_trusted", "scale": [1, 5], "statement": "The council can be trusted."}
    assert mapping["columns"]["Hours online"]["kind"] == "numeric"
    assert mapping["columns"]["Channels"]["kind"] == "categorical"  # several choices are no decimals
    read = survey_of(resolve_for("./zone").config.population, folder / "zone")
    assert read is not None
    assert sorted(set(read.personas.weight.tolist())) == [1.5, 2.5, 3.5]
    scenario = load_scenario("./zone")
    assert sorted(scenario.posts.veracity.tolist()) == [1, 1, 1, 1, 2, 2]


def test_guesses_that_a_reader_must_know_are_said(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "bridge", "--from", "headlines.csv", "--survey", "answers.csv", "--yes"]) == 0
    said = capsys.readouterr()
    assert "stance toward the first proposition" in said.out
    assert "wave 2 is taken as asked at step 168: change `waves` in mapping.yaml if that is wrong" in said.err


AGREEMENT = ["strongly disagree", "rather disagree", "neither", "rather agree", "strongly agree"]


def write_numbered(folder: Path) -> None:
    """Twenty respondents whose ids are 1 to 20, with answers of agreement, and posts with a stance."""
    rows = [f"{n},{AGREEMENT[n % 5]},{'owner' if n % 3 else 'tenant'},{0.5 + n / 20}" for n in range(1, 21)]
    names = "id,The centre should be closed to cars,housing,svy_weight"
    (folder / "numbered.csv").write_text("\n".join([names, *rows]), "utf-8")
    posts = [f"Post {n} about cars in the centre,{n % 2 == 0},{0.5 if n % 2 else -0.5}".lower() for n in range(8)]
    (folder / "posts.csv").write_text("\n".join(["headline,veracity,stance", *posts]), "utf-8")


def test_answers_of_agreement_in_other_words_and_ids_that_are_numbers(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_numbered(folder)
    assert main(["init", "cars", "--from", "posts.csv", "--survey", "numbered.csv", "--yes"]) == 0
    mapping = read_yaml(folder / "cars" / "mapping.yaml")
    assert isinstance(mapping, dict)
    assert mapping["weight"] == "svy_weight"
    item = mapping["columns"]["The centre should be closed to cars"]
    assert item["values"] == dict(zip(AGREEMENT, (-1, -0.5, 0, 0.5, 1), strict=True))
    assert mapping["posts"]["stance"] == f"stance:{item['stance']}"
    assert main(["run", "./cars", "--out", "runs/cars", "--no-report", *FEW]) == 0
    capsys.readouterr()
    assert main(["why", "runs/cars", "--agent", "7"]) == 0
    said = capsys.readouterr()
    names = Run.open("runs/cars").sql("SELECT agent, name FROM agents WHERE kind = 0")
    assert "respondent 7 is 7/" in said.err or names.row(7)[1].startswith("7/")


def test_a_stance_of_posts_is_toward_the_first_proposition_and_needs_one(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_numbered(folder)
    assert main(["init", "cars", "--from", "posts.csv", "--survey", "numbered.csv", "--yes"]) == 0
    file = folder / "cars" / "mapping.yaml"
    text = file.read_text(encoding="utf-8")
    name = load_scenario("./cars").proposition_names[0]
    file.write_text(text.replace(f"stance: stance:{name}", "stance: stance"), encoding="utf-8")
    assert "stance: stance\n" in file.read_text(encoding="utf-8")
    stances = load_scenario("./cars").posts.stance
    assert set(np.unique(stances[~np.isnan(stances)])) == {-0.5, 0.5}
    lines = file.read_text(encoding="utf-8").split("\ncolumns:")[0]
    file.write_text(lines + "\ncolumns: {housing: {trait: housing, kind: categorical}}\n", encoding="utf-8")
    assert main(["run", "./cars", "--out", "runs/none", *FEW]) == 2
    assert "`stance` without a proposition" in capsys.readouterr().err

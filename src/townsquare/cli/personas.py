"""``townsquare personas``: make personas, from a survey or the question bank, and count what they answer."""

from __future__ import annotations

from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from townsquare.cli import options
from townsquare.cli.console import MOST_SHOWN, answer, complain, known, list_some, number, picked, show, show_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from townsquare.core.array_types import Float, Int16
    from townsquare.scenario.population.margins import Reached
    from townsquare.scenario.population.personas import TraitShares
    from townsquare.scenario.population.question_bank import QuestionBank
    from townsquare.scenario.population.sample import People

MOST_DRAWN = 10_000_000
LOW = 0.05


def from_survey(
    answers: Path,
    /,
    *,
    mapping: Path,
    out: Path,
    sets: options.Sets = None,
    skip_bad: options.SkipBad = False,
    replace: options.Replace = False,
    as_json: options.AsJson = False,
) -> int:
    """Create one persona for each survey respondent, by the question bank of --set population.bank.

    Parameters
    ----------
    answers
        CSV, TSV, JSONL or Parquet with one row per respondent.
    mapping
        YAML that maps the columns; see docs/survey-mapping.md.
    out
        Output file of personas (JSON lines).
    """
    from townsquare.core.errors import SettingError
    from townsquare.scenario.population.personas import write_personas
    from townsquare.scenario.population.survey import personas_from_survey

    bank = options.bank_of(sets)
    made = personas_from_survey(answers, mapping, bank, skip_bad=skip_bad)
    run_it = f"--set population.file={answers} --set population.mapping={mapping}"
    if made.bank is not bank:
        do = f"run the survey itself: {run_it}"
        raise SettingError("--mapping", got="traits of your own", allowed="traits of the question bank", do=do)
    people = made.personas
    with options.writing(out, replace=replace):
        write_personas(out, people.traits, bank, ids=people.ids, texts=people.texts, stance=people.stance)
    weighted = people.weight is not None and len(set(people.weight.tolist())) > 1
    lost = [name for name, has in (("survey weights", weighted), ("later waves", bool(made.waves))) if has]
    if as_json:
        facts = {"left_out": made.left_out, "columns_not_used": made.unused, "not_in_personas": lost}
        return show_json({"personas": str(out), "n": len(people), **facts})
    print(f"{len(people):,} personas  {out}")
    list_some(made.left_out, "left out", MOST_SHOWN, "more rows; --json lists them all")
    if made.unused:
        complain(f"columns not in the mapping: {', '.join(made.unused)}", kind="note")
    if lost:
        complain(
            f"personas have no {' and no '.join(lost)}: runs of the survey itself ({run_it}) use them", kind="note"
        )
    return 0


def sample(
    target: options.Target = None,
    /,
    *,
    n: options.Whole | None = None,
    seed: options.Seed = None,
    out: Path,
    sets: options.Sets = None,
    replace: options.Replace = False,
    as_json: options.AsJson = False,
) -> int:
    """Sample personas as a run with the same settings and seed would.

    Margins and a file of personas are settings: --set 'population.margins={gender: {Male: 0.5, Female: 0.5}}'.

    Parameters
    ----------
    n
        Number of people (required).
    out
        Output file of personas (JSON lines).
    """
    from townsquare.scenario.population.personas import write_personas

    people, *_ = _sampled(target, n, seed, sets)
    # Of people from a file the stances may be measured; those of sampled ones are drawn again by each run.
    toward = zip(people.propositions, people.stance.T, strict=True) if people.names else ()
    with options.writing(out, replace=replace):
        write_personas(out, people.traits, people.bank, ids=people.names, texts=people.texts, stance=dict(toward))
    return answer({"personas": str(out), "n": n}, f"{n:,} personas  {out}", as_json=as_json)


def describe(
    file: Path | None = None,
    /,
    *,
    n: options.Whole | None = None,
    seed: options.Seed = None,
    sets: options.Sets = None,
    as_json: options.AsJson = False,
) -> int:
    """Compare the answers of personas with the shares that they are drawn from.

    These are shares in the question bank or, with population.file, of respondents, with weights and margins.

    Parameters
    ----------
    file
        Personas as JSON lines, read by the question bank of --set population.bank; with --n, a scenario or
        configuration whose people are sampled; default: health-rumor.
    n
        Number of people to sample.
    """
    from townsquare.core.errors import SettingError
    from townsquare.scenario.population.personas import persona_shares, read_personas
    from townsquare.scenario.population.sample import drawn_from

    if file is None and n is None:
        raise SettingError("FILE or --n", got="neither", allowed="a file, a number of people, or both")
    reached: list[Reached] = []
    if n is None and file is not None:
        expected, bank, respondents = drawn_from(options.SeededSize(sets=sets).settings(None).config.population, None)
        traits = read_personas(file, bank).traits
    else:
        people, reached, (expected, bank, respondents) = _sampled(None if file is None else str(file), n, seed, sets)
        traits = people.traits
    shares = persona_shares(traits, bank, respondents)
    if as_json:
        head = {"n": int(traits.shape[0]), "expected": expected}
        return show_json({**head, "traits": [_plain(trait) for trait in shares], "margins": reached})
    _show(shares, int(traits.shape[0]), expected)
    _show_margins(reached)
    return 0


def _show_margins(reached: Sequence[Reached]) -> None:
    """Print targets of margins beside what respondents and agents have."""
    if not reached:
        return
    percent = known("{:.1%}".format)
    show(
        "Margins", reached, (str, "trait", "answer"),
        (percent, "target", "respondents", "agents"), (lambda gap: f"{100 * gap:+.2f}", "gap, points=gap"),
        words=("trait", "answer"),
    )  # fmt: skip
    worst = max(abs(margin.gap) for margin in reached)
    print(f"Largest difference between agents and target: {100 * worst:.2f} points. Shares of those who answered.")


def _sampled(
    target: str | None, n: int | None, seed: int | None, sets: list[str] | None
) -> tuple[People, list[Reached], tuple[str, QuestionBank, tuple[Int16, Float] | None]]:
    """Return people as a run would have them, how far they meet their margins, and what they are drawn from."""
    from townsquare.core.errors import SettingError
    from townsquare.scenario.load import load_scenario
    from townsquare.scenario.population.margins import reached
    from townsquare.scenario.population.sample import drawn_from, sample_people, survey_of

    if n is None or not 1 <= n <= MOST_DRAWN:
        raise SettingError("--n", got=str(n or "nothing"), allowed=f"a whole number from 1 to {MOST_DRAWN}")
    config = options.SeededSize(seed=seed, sets=sets).settings(target).config
    scenario = load_scenario(config.scenario)
    if scenario.accounts is not None:
        raise SettingError(config.scenario, got="a scenario with accounts", allowed="a scenario without accounts")
    settings, folder = config.population, scenario.folder
    people = sample_people(0, n, settings, scenario.proposition_names, config.seed, folder=folder)
    survey = survey_of(settings, folder)
    own = None if survey is None else survey.personas
    met = reached(settings.margins, people.bank, people.traits, own)
    return people, met, drawn_from(settings, folder)


def _plain(trait: TraitShares) -> dict[str, Any]:
    answers = zip(trait.groups, trait.counts.tolist(), trait.stated.tolist(), strict=True)
    listed = [dict(zip(("answer", "count", "stated"), answer, strict=True)) for answer in answers]
    names = ("missing", "chi_square=statistic", "degrees_of_freedom=freedom", "p", "few_expected=few")
    return {"trait": trait.label, "answers": listed, **picked(trait, *names)}


def _show(shares: list[TraitShares], n: int, expected: str) -> None:
    rows: list[tuple[Any, ...]] = []
    for trait in shares:
        answered = max(1, int(trait.counts.sum()))
        counts = zip(trait.groups, trait.counts.tolist(), trait.stated.tolist(), strict=True)
        listed = [(answer, n, n / answered, stated) for answer, n, stated in counts if n or stated > 0]
        listed += [("no answer", trait.missing, None, None)] if trait.missing else []
        test = (number(trait.statistic, 3), trait.freedom, number(trait.p, 2) + ("*" if trait.few else ""))
        rows += [
            (trait.label if not at else "", *cells, *(("", None, "") if at else test))
            for at, cells in enumerate(listed)
        ]
    show(
        f"{n:,} people", rows, (str, "trait", "answer"), (number, "people"),
        (known("{:.1%}".format), "share", "expected=stated"), (str, "chi-square"), (known(str), "df"), (str, "p"),
        words=("trait", "answer"),
    )  # fmt: skip
    print(f"Expected: {expected}.")
    print("p: probability that people drawn with the expected shares deviate at least this much from them.")
    if any(trait.few for trait in shares):
        print("* An answer has an expected count below five: p is unreliable.")
    tested = [trait.p for trait in shares if isfinite(trait.p)]
    low = sum(p < LOW for p in tested)
    print(f"{low} of {len(tested)} tests have p < {LOW}; at most 1 in 20 is expected by chance.")

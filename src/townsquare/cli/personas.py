"""``townsquare personas``: make personas, from a survey or the question bank, and count what they answer."""

from __future__ import annotations

from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from townsquare.cli import options
from townsquare.cli.console import complain, console, number, show_json, table

if TYPE_CHECKING:
    from townsquare.scenario.population.personas import TraitShares
    from townsquare.scenario.population.sample import People

MOST_SHOWN = 5
MOST_DRAWN = 10_000_000
LOW = 0.05
Count = Annotated[int | None, Parameter(name="--n", converter=options.whole, help="How many people.")]
Out = Annotated[Path, Parameter(help="File of personas to write, as JSON lines.")]


def from_survey(
    answers: Annotated[Path, Parameter(name="ANSWERS", help="CSV, TSV, JSONL or Parquet, one row a respondent.")],
    /,
    *,
    mapping: Annotated[Path, Parameter(help="YAML that says what the columns mean; see docs/populations.md.")],
    out: Out,
    skip_bad: Annotated[
        bool, Parameter(negative="", help="Leave out rows that cannot be read, and say which.")
    ] = False,
    replace: options.Replace = False,
    as_json: options.AsJson = False,
) -> int:
    """Make one persona of each respondent of a survey."""
    from townsquare.scenario.population.personas import write_personas
    from townsquare.scenario.population.question_bank import bundled_bank
    from townsquare.scenario.population.survey import personas_from_survey

    bank = bundled_bank()
    made = personas_from_survey(answers, mapping, bank, skip_bad=skip_bad)
    people = made.personas
    with options.writing(out, replace=replace):
        write_personas(out, people.traits, bank, ids=people.ids, texts=people.texts, stance=people.stance)
    if as_json:
        show_json({"personas": str(out), "n": len(people), "left_out": made.left_out, "columns_not_used": made.unused})
        return 0
    print(f"{len(people):,} personas  {out}")
    for sentence in made.left_out[:MOST_SHOWN]:
        complain(sentence, kind="left out")
    if len(made.left_out) > MOST_SHOWN:
        complain(f"{len(made.left_out) - MOST_SHOWN:,} more rows; --json lists them all", kind="left out")
    if made.unused:
        complain(f"columns that the mapping does not name: {', '.join(made.unused)}", kind="note")
    return 0


def sample(
    target: options.Target = None,
    /,
    *,
    n: Count = None,
    seed: options.Seed = None,
    out: Out,
    sets: options.Sets = None,
    replace: options.Replace = False,
    as_json: options.AsJson = False,
) -> int:
    """Draw personas as a run with the same settings and seed would have them.

    Margins and a file of personas are settings: --set 'population.margins={gender: {Male: 0.5, Female: 0.5}}'.
    """
    from townsquare.core.errors import SettingError
    from townsquare.scenario.population.personas import write_personas
    from townsquare.scenario.population.question_bank import bundled_bank

    if n is None or not 1 <= n <= MOST_DRAWN:
        raise SettingError("--n", got=str(n or "nothing"), allowed=f"a whole number from 1 to {MOST_DRAWN}")
    people = _sampled(target, n, seed, sets)
    # Of people from a file the stances may be measured; those of sampled ones are drawn again by each run.
    toward = zip(people.propositions, people.stance.T, strict=True) if people.names else ()
    with options.writing(out, replace=replace):
        write_personas(out, people.traits, bundled_bank(), ids=people.names, texts=people.texts, stance=dict(toward))
    if as_json:
        show_json({"personas": str(out), "n": n})
    else:
        print(f"{n:,} personas  {out}")
    return 0


def describe(
    file: Annotated[Path | None, Parameter(name="FILE", help="Personas, as JSON lines.")] = None,
    /,
    *,
    n: Count = None,
    seed: options.Seed = None,
    sets: options.Sets = None,
    as_json: options.AsJson = False,
) -> int:
    """Count the answers of personas, in a file or drawn here, beside the shares that the question bank states."""
    from townsquare.core.errors import SettingError
    from townsquare.scenario.population.personas import persona_shares, read_personas
    from townsquare.scenario.population.question_bank import bundled_bank

    if (file is None) == (n is None):
        raise SettingError("FILE or --n", got="both" if file else "neither", allowed="a file, or how many to draw")
    if n is not None and not 1 <= n <= MOST_DRAWN:
        raise SettingError("--n", got=str(n), allowed=f"a whole number from 1 to {MOST_DRAWN}")
    bank = bundled_bank()
    traits = read_personas(file, bank).traits if file else _sampled(None, n or 0, seed, sets).traits
    found = persona_shares(traits, bank)
    if as_json:
        show_json({"n": int(traits.shape[0]), "traits": [_plain(one) for one in found]})
    else:
        _show(found, int(traits.shape[0]))
    return 0


def _sampled(target: str | None, n: int, seed: int | None, sets: list[str] | None) -> People:
    from townsquare.core.errors import SettingError
    from townsquare.scenario.load import load_scenario
    from townsquare.scenario.population.sample import sample_people
    from townsquare.scenario.settings import resolve_for

    name, file = options.split_target(target)
    config = resolve_for(name, file, sets or (), seed=seed).config
    scenario = load_scenario(config.scenario)
    if scenario.accounts is not None:
        raise SettingError(config.scenario, got="a scenario that brings its people", allowed="one that has none")
    return sample_people(0, n, config.population, scenario.proposition_names, config.seed, folder=scenario.folder)


def _plain(one: TraitShares) -> dict[str, Any]:
    rows = zip(one.groups, one.counts.tolist(), one.stated.tolist(), strict=True)
    answers = [{"answer": answer, "count": count, "stated": stated} for answer, count, stated in rows]
    return {
        "trait": one.label,
        "answers": answers,
        "missing": one.missing,
        "chi_square": one.statistic,
        "degrees_of_freedom": one.freedom,
        "p": one.p,
        "few_expected": one.few,
    }


def _show(found: list[TraitShares], n: int) -> None:
    rows = []
    for one in found:
        answered = max(1, int(one.counts.sum()))
        shown = [
            (answer, f"{count:,}", f"{count / answered:.1%}", f"{stated:.1%}")
            for answer, count, stated in zip(one.groups, one.counts.tolist(), one.stated.tolist(), strict=True)
            if count or stated > 0
        ]
        shown += [("no answer", f"{one.missing:,}", "", "")] if one.missing else []
        test = (number(one.statistic, 3), str(one.freedom), number(one.p, 2) + ("*" if one.few else ""))
        rows += [
            (one.label if not at else "", *cells, *(("", "", "") if at else test)) for at, cells in enumerate(shown)
        ]
    columns = ("trait", "answer", "people", "share", "stated", "chi-square", "df", "p")
    right = ("people", "share", "stated", "chi-square", "df", "p")
    console().print(table(f"{n:,} people", columns, rows, right=right))
    print("p: how often a sample of the question bank is at least this far from its stated shares.")
    if any(one.few for one in found):
        print("* some answer is expected less than five times: p is a poor guide there.")
    tested = [one.p for one in found if isfinite(one.p)]
    low = sum(p < LOW for p in tested)
    print(f"{low} of {len(tested)} tests have p below {LOW}; of a sample of the bank, one in twenty does by chance.")

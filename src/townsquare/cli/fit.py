"""``townsquare fit``: fit a belief rule to people, held out, beside its baselines."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from townsquare.cli import options, places
from townsquare.cli.console import complain, console, show_json, table

if TYPE_CHECKING:
    from townsquare.humans.fit.options import FitOptions
    from townsquare.humans.fit.study import Study
    from townsquare.humans.trajectories import Trajectories
    from townsquare.pages.report.section import Table

Rule = Annotated[
    str, Parameter(help="log_odds, exposure, social_log_odds, bounded_confidence or averaging; several by commas.")
]
Folds = Annotated[Literal["group", "topic"], Parameter(help="What is held out whole: conversations, or topics.")]
By = Annotated[
    Literal["end", "step"], Parameter(help="Predict the last answer from the first, or each from the one before.")
]
Form = Annotated[str, Parameter(name="--format", help="persuasiontrace, nyu, delidata or plain; by default found out.")]
Mapping = Annotated[str, Parameter(help="YAML that says what the columns mean, or `debate`; see docs/humans.md.")]
Skip = Annotated[bool, Parameter(negative="", help="Leave out rows that are wrong, and count them.")]
Apply = Annotated[
    Path | None, Parameter(help="A fit.json, or its folder: evaluate it on these people, fitting nothing.")
]
Polarity = Annotated[
    Literal["given", "named", "listed", "embedded"] | None, Parameter(help="Who says on which side a message is.")
]
Strength = Annotated[Literal["given", "constant", "embedded"] | None, Parameter(help="Who says how strong it is.")]
Filter = Annotated[
    Literal["none", "first_per_author", "stronger_half"], Parameter(help="Which claims a person takes in.")
]
Continuous = Annotated[bool, Parameter(negative="", help="Search on from the best cell of the grid.")]
OutFolder = Annotated[Path | None, Parameter(help="Folder for fit.json, tables, figures, people and profiles.")]
Profiles = Annotated[Path | None, Parameter(help="CSV of profiles to write, for --set beliefs.profiles=FILE.")]
Kind = Annotated[Literal["one", "groups", "people"], Parameter(name="--profile-kind", help="What --profiles writes.")]


def fit(
    data: Annotated[Path, Parameter(name="DATA", help="A folder or file of human data; see docs/humans.md.")],
    /,
    *,
    rule: Rule = "log_odds",
    folds: Folds = "group",
    by: By = "end",
    continuous: Continuous = False,
    form: Form = "",
    mapping: Mapping = "",
    skip_bad: Skip = False,
    apply: Apply = None,
    polarity: Polarity = None,
    strength: Strength = None,
    constant: Annotated[float, Parameter(help="Strength of what nobody rated.")] = 0.5,
    theta: Annotated[float | None, Parameter(help="Cosine of near-duplicates; by default the embedder's own.")] = None,
    embedder: Annotated[str, Parameter(help="What finds near-duplicates.")] = "hashing",
    dedup: Annotated[bool, Parameter(help="Keep only the stronger of near-duplicates.")] = True,
    uptake_filter: Filter = "none",
    stable: Annotated[float | None, Parameter(help="A change of at most this is none.")] = None,
    weak: Annotated[float | None, Parameter(help="Net evidence of at most this is weak.")] = None,
    seed: options.Seed = None,
    out: OutFolder = None,
    figures: Annotated[bool, Parameter(help="Draw figures into --out.")] = True,
    profiles: Profiles = None,
    kind: Kind = "people",
    on: places.On = "",
    replace: options.Replace = False,
    as_json: options.AsJson = False,
) -> int:
    """Replay what people received through a belief rule and fit its two numbers, with folds held out.

    Every error is shown beside those of no change, of the start alone, of the net evidence, of the mean of what was
    received, and of a regression.
    """
    from townsquare.humans.read import read_humans

    evidence = {
        "polarity": polarity, "strength": strength, "constant": constant, "theta": theta, "embedder": embedder,
        "dedup": dedup, "uptake_filter": uptake_filter,
    }  # fmt: skip
    chosen = {"stable": stable, "weak": weak, "seed": seed}
    given = {name: value for name, value in chosen.items() if value is not None}
    wanted = [
        _options(rule=one.strip(), folds=folds, by=by, continuous=continuous, evidence=evidence, **given)
        for one in rule.split(",")
    ]
    people = read_humans(data, form=form, mapping=mapping, skip_bad=skip_bad)
    if not as_json:
        _show_left_out(people)
    if apply is not None:
        return _apply(apply, people, as_json=as_json)
    return _fit(people, wanted, out, profiles, kind, on, figures=figures, replace=replace, as_json=as_json)


def _options(**given: Any) -> FitOptions:
    from pydantic import ValidationError

    from townsquare.core.errors import SettingError
    from townsquare.humans.fit.options import FitOptions

    try:
        return FitOptions.model_validate(given)
    except ValidationError as error:
        problem = error.errors()[0]
        name = str(problem["loc"][-1]).replace("_", "-")
        allowed = problem["msg"].removeprefix("Input should be ")
        raise SettingError(f"--{name}", got=str(problem["input"]), allowed=allowed) from None


def _fit(
    people: Trajectories, wanted: list[FitOptions], out: Path | None, profiles: Path | None, kind: Any, on: str, *,
    figures: bool, replace: bool, as_json: bool,
) -> int:  # fmt: skip
    from townsquare.cli.progress import ProgressDisplay, mode
    from townsquare.core.errors import SettingError
    from townsquare.humans.fit.profiles import profiles_csv
    from townsquare.humans.fit.studies import studies
    from townsquare.pages.people.output import plain, write_study

    folders = {one.rule: out if out is None or len(wanted) == 1 else out / one.rule for one in wanted}
    for folder in folders.values():
        if folder is not None and (folder / "fit.json").exists() and not replace:
            got = f"{folder}, which holds a fit"
            raise SettingError("--out", got=got, allowed="a new folder", do="or add --replace")
    if profiles is not None and len(wanted) > 1:
        raise SettingError("--profiles", got="with several rules", allowed="with one --rule")
    shown = "none" if len(wanted) == 1 else mode(quiet=False, as_json=as_json)
    with ProgressDisplay(len(wanted), shown, "fitting", "rule") as progress:
        found = studies(people, wanted, on, progress.at)
    for one in found:
        if (folder := folders[one.options.rule]) is not None:
            write_study(one, folder, figures=figures)
    if profiles is not None:
        with options.writing(profiles, replace=replace):
            profiles.write_text(profiles_csv(found[0], kind), encoding="utf-8")
    if as_json:
        whole = plain(found[0]) if len(found) == 1 else {"fits": [plain(one) for one in found]}
        show_json({"event": "result", "out": str(out) if out else None, **whole})
        return 0
    for one in found:
        if len(found) > 1:
            print(f"{one.options.rule}\n")
        _show(one)
    for path in (out, profiles):
        if path is not None:
            print(f"written to {path}")
    return 0


def _apply(fit_file: Path, people: Trajectories, *, as_json: bool) -> int:
    from townsquare.humans.fit.fit_file import apply_fit, read_fit
    from townsquare.pages.people.output import plain_scores
    from townsquare.pages.people.tables import scores_table

    fit = read_fit(fit_file)
    scored = apply_fit(fit, people)
    if as_json:
        left_out = len(people.left_out)
        show_json({"event": "result", "fit": str(fit_file), "left_out": left_out, "applied": plain_scores(scored)})
        return 0
    x, y = fit.names
    print(
        f"{fit.options.rule} with {x} {fit.point.x:.4g}, {y} {fit.point.y:.4g}, "
        f"fitted to {fit.rows:,} rows of {fit.data}"
    )
    _show_table(scores_table(scored, fit.options.rule, "A saved fit on other people: nothing is fitted here"))
    return 0


def _show(found: Study) -> None:
    from townsquare.pages.people.sentences import sentences
    from townsquare.pages.people.tables import tables_of

    for sentence in sentences(found):
        print(f"- {sentence}")
    print()
    for shown in tables_of(found).values():
        _show_table(shown)


def _show_table(shown: Table) -> None:
    head = tuple(shown.head)
    right = tuple(name for at, name in enumerate(head) if at not in shown.words)
    console().print(table(shown.caption, head, shown.rows, right=right))
    if shown.note:
        print(f"{shown.note}\n")


def _show_left_out(people: Trajectories) -> None:
    from townsquare.cli.personas import MOST_SHOWN

    for sentence in people.left_out[:MOST_SHOWN]:
        complain(sentence, kind="left out")
    if len(people.left_out) > MOST_SHOWN:
        complain(f"{len(people.left_out) - MOST_SHOWN:,} more rows", kind="left out")

"""``townsquare fit``: fit a belief rule to people, held out, next to its baselines."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from townsquare.cli import options, places
from townsquare.cli.console import MOST_SHOWN, list_some, show_json, show_table
from townsquare.humans.fit.evidence_choice import EvidenceChoice
from townsquare.humans.fit.folds import SEED
from townsquare.humans.fit.options import FitOptions
from townsquare.settings.config import setting

if TYPE_CHECKING:
    from townsquare.humans.fit.study import Study
    from townsquare.humans.trajectories import Trajectories


class Evidence(EvidenceChoice):
    """How evidence is read from messages, as options."""

    dedup: Annotated[bool, Parameter(negative="--no-dedup")] = setting(True, "Keep the stronger of near-duplicates.")


class How(FitOptions):
    """How rules are fitted, as options."""

    rule: str = setting(
        "log_odds", "Belief rules, separated by commas; a rule must declare a grid for two of its settings."
    )
    seed: options.Whole = setting(SEED, "Seed of the folds and the bootstrap.")
    evidence: Annotated[Evidence, Parameter(name="*")] = setting(Evidence, "How messages are read.")


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """Output options of a fit."""

    out: Path | None = None
    """Output folder for fit.json, tables, figures, people and profiles."""
    figures: Annotated[bool, Parameter(negative="--no-figures")] = True
    """Draw figures into --out."""
    profiles: Path | None = None
    """Output CSV of profiles, for --set beliefs.profiles=FILE."""
    kind: Annotated[Literal["one", "groups", "people"], Parameter(name="--profile-kind")] = "people"
    """Profiles to write: one for all, one per group, or the distribution over people."""
    replace: options.Replace = False


HOW, WRITTEN = How(), Written()


def fit(
    data: Path,
    /,
    *,
    form: Annotated[str, Parameter(name="--format")] = "",
    mapping: str = "",
    skip_bad: options.SkipBad = False,
    apply: Path | None = None,
    how: Annotated[How, Parameter(name="*")] = HOW,
    written: Written = WRITTEN,
    on: Annotated[str, Parameter(help=places.ON)] = "",
    as_json: options.AsJson = False,
) -> int:
    """Fit the two parameters of a belief rule to human data, and evaluate it on held-out folds.

    Errors are compared with baselines: no change, prior only (the initial stance, scaled by one fitted number), net
    evidence, mean of the messages received, a regression, and a prior of control conversations if the data have them.

    Parameters
    ----------
    data
        A folder or file of human data; see docs/human-data.md.
    form
        persuasiontrace, nyu, delidata, crowds or plain; default: detected.
    mapping
        YAML that maps the columns, or `debate`; see docs/human-data.md.
    apply
        A fit.json or its folder: evaluate it on these people without fitting.
    """
    from townsquare.humans.read import read_humans

    wanted = [FitOptions.model_validate({**how.model_dump(), "rule": rule.strip()}) for rule in how.rule.split(",")]
    people = read_humans(data, form=form, mapping=mapping, skip_bad=skip_bad)
    if not as_json:
        list_some(people.left_out, "left out", MOST_SHOWN, "more rows")
    if apply is not None:
        return _apply(apply, people, as_json=as_json)
    return _fit(people, wanted, written, on, as_json=as_json)


def _fit(people: Trajectories, wanted: list[FitOptions], written: Written, on: str, *, as_json: bool) -> int:
    from townsquare.core.errors import SettingError
    from townsquare.humans.fit.profiles import profiles_csv
    from townsquare.humans.fit.studies import studies
    from townsquare.pages.people.output import plain, write_study

    out, profiles, replace = written.out, written.profiles, written.replace
    folders = {study.rule: out if out is None or len(wanted) == 1 else out / study.rule for study in wanted}
    for folder in folders.values():
        if folder is not None and (folder / "fit.json").exists() and not replace:
            got = f"{folder} already contains a fit"
            raise SettingError("--out", got=got, do="choose another folder, or use --replace to overwrite")
    if profiles is not None and len(wanted) > 1:
        raise SettingError("--profiles", got="with several rules", allowed="with one --rule")
    with options.Shown(quiet=len(wanted) == 1, as_json=as_json).progress(len(wanted), "fitting", "rule") as progress:
        fitted = studies(people, wanted, on, progress.at)
    for study in fitted:
        if (folder := folders[study.options.rule]) is not None:
            write_study(study, folder, figures=written.figures)
    if profiles is not None:
        options.write(profiles, profiles_csv(fitted[0], written.kind), replace=replace)
    if as_json:
        whole = plain(fitted[0]) if len(fitted) == 1 else {"fits": [plain(study) for study in fitted]}
        return show_json({"event": "result", "out": str(out) if out else None, **whole})
    for study in fitted:
        if len(fitted) > 1:
            print(f"{study.options.rule}\n")
        _show(study)
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
        facts = {"left_out": len(people.left_out), "applied": plain_scores(scored)}
        return show_json({"event": "result", "fit": str(fit_file), **facts})
    x, y = fit.names
    point = f"{x} {fit.point.x:.4g}, {y} {fit.point.y:.4g}"
    print(f"{fit.options.rule} with {point}, fitted to {fit.rows:,} rows of {fit.data}")
    shown = scores_table(scored, fit.options.rule, "A saved fit evaluated on these data, without fitting")
    show_table(shown, with_note=True)
    return 0


def _show(study: Study) -> None:
    from townsquare.pages.people.sentences import sentences
    from townsquare.pages.people.tables import tables_of

    for sentence in sentences(study):
        print(f"- {sentence}")
    print()
    for shown in tables_of(study).values():
        show_table(shown, with_note=True)

"""Tables of a fit: Tables 1, A6 and A7 of the paper, scores with baselines, and individual parameters."""

from __future__ import annotations

from collections.abc import Sequence

from townsquare.core.documents import bundled_labels
from townsquare.core.text_table import Table, table
from townsquare.core.words import number, percent, signed_three, three
from townsquare.humans.fit.alignment import WARNING
from townsquare.humans.fit.by_group import GroupRow, Robustness
from townsquare.humans.fit.calibration import CEILING
from townsquare.humans.fit.fit import RULE
from townsquare.humans.fit.kinds import Kinds
from townsquare.humans.fit.pooling import NEXT, PooledFit
from townsquare.humans.fit.scores import Scored
from townsquare.humans.fit.study import Study
from townsquare.pages.people.words import METHODS, estimated, method, signed_interval

BEST_FIRST = "95% CIs: t over folds, and bootstrap over conversations. Negative differences favor the rule."
ARM_NAMES = bundled_labels("fit_arms")
GROUP_NAMES, SPLITS = bundled_labels("fit_groups"), bundled_labels("fit_splits")


def scores_table(scored: Scored, rule: str, caption: str = "Held-out error of the rule and its baselines") -> Table:
    """Return rule and baselines in rows: errors, intervals, and the rule's paired difference to each."""
    own = NEXT if NEXT in scored.scores else RULE
    less = {name: {"less": paired.people, "less_folds": paired.folds} for name, paired in scored.paired.items()}
    none, scores = {"less": None, "less_folds": None}, scored.scores.items()
    rows = [score._asdict() | {"method": method(name, rule)} | less.get(name, none) for name, score in scores]
    return table(
        caption, rows, (str, "method"), (estimated, "RMSE=people", "mean of folds=folds"), (three, "MAE=mae"),
        (percent, "sign"),
        (signed_interval, f"{method(own, rule)} minus this=less", "difference over folds=less_folds"),
        note=f"{scored.n:,} rows in {scored.groups:,} conversations. {BEST_FIRST}",
    )  # fmt: skip


def table_1(rows: Sequence[GroupRow], rule: str, names: tuple[str, str]) -> Table:
    """Return Tables 1 and A6 of the paper, with the baselines that are fitted to the group as the rule is."""
    return table(
        "Groups by evidence (Tables 1 and A6)", rows, (GROUP_NAMES.__getitem__, "group"), (number, "N=n"),
        (three, "mean absolute change=mean_change", "no change=no_change", "linear", f"{rule}=rule"),
        (signed_three, "gain"),
        (three, "prior only, own fit=prior_own", "linear, own fit=linear_own"),
        ("{:.4g}".format, f"{names[0]}=x", f"{names[1]}=y"),
        note=f"Held-out RMSE. Gain = linear − rule. {WARNING}",
    )  # fmt: skip


def table_a7(rows: Sequence[Robustness]) -> Table:
    """Return Table A7: profiles by group over folds, against prior-only and against one profile for all."""
    better = [{**row._asdict(), "better": "{} and {} of {}".format(*row.folds_better, row.folds)} for row in rows]
    return table(
        "Robustness over folds (Table A7)", better, (SPLITS.__getitem__, "split"),
        (estimated, "fold mean RMSE=rmse"),
        (signed_interval, "Δ prior only=less_prior", "Δ one profile for all=less_global"),
        (str, "folds in which lower=better"), words=("split",),
        note=f"95% CIs: t over folds. Each group has its own profile; weak-signal movers have that of all. {WARNING}",
    )  # fmt: skip


def people_table(fit: PooledFit, names: tuple[str, str]) -> Table:
    """Return for how many people the data identify individual parameters."""
    rows = [
        ["people", number(len(fit.people))],
        *([f"{names[at]} identified", percent(fit.share_identified("xy"[at]))] for at in (0, 1)),
        ["both identified and not correlated", percent(fit.share_identified("both"))],
        ["spread around predictions (sd)", three(fit.population.error)],
    ]
    note = "Identified: the posterior is at least 10% narrower than the distribution in the population."
    return Table("Individual parameters by partial pooling", ["of people", ""], rows, note=note)


def kinds_table(study: Study, kinds: Kinds) -> Table:
    """Return the kinds of people: shares, parameters, and spread of answers."""
    grid = study.setup.grid
    listed = zip(kinds.cell.tolist(), kinds.share.tolist(), kinds.error.tolist(), strict=True)
    rows = [[percent(share), *map("{:.4g}".format, grid.cell(cell)), three(error)] for cell, share, error in listed]
    head = ["share of people", grid.x_short, grid.y_short, "spread of answers (sd)"]
    return Table("Kinds of people: a mixture of parameter sets", head, rows, note="Fitted to everybody.")


def effects_table(study: Study) -> Table:
    """Return the mean change of stance by arm: observed, by the rule, and by the prior."""
    calibration, grid = study.calibration, study.setup.grid
    slope = estimated(calibration.slope)
    return table(
        "Effects by arm: mean change of stance", calibration.arms, (ARM_NAMES.__getitem__, "arm"), (number, "N=n"),
        (signed_interval, "observed"), (signed_three, f"{grid.rule}=rule", f"{METHODS[calibration.prior]}=prior"),
        note=f"Slope of observed on predicted moves beyond the {METHODS[calibration.prior]}: {slope}; 1 is right.",
    )  # fmt: skip


def proper_table(study: Study) -> Table:
    """Return log score and CRPS of every method, with the noise ceiling of the control conversations."""
    rule = study.options.rule
    rows = [
        {**score._asdict(), "method": CEILING if score.method == CEILING else method(score.method, rule)}
        for score in study.calibration.scores
    ]
    return table(
        "Proper scores of predictive distributions", rows, (str, "method"),
        (estimated, "log score=log_score"), (signed_interval, f"minus {rule}=gain"), (estimated, "CRPS=crps"),
        note="Normal around the prediction, spread from the other folds; kinds: mixtures of normals. Log score: larger "
        "is better. CRPS: smaller is better. Noise ceiling: one normal, with the noise of control conversations.",
    )  # fmt: skip


def tables_of(study: Study) -> dict[str, Table]:
    """Return every table of a fit, by the stem of its file."""
    grid = study.setup.grid
    names = (grid.x_short, grid.y_short)
    out = {
        "scores": scores_table(study.scored, grid.rule),
        "effects": effects_table(study),
        "proper-scores": proper_table(study),
        "table-1": table_1(study.groups, grid.rule, names),
        "table-a7": table_a7(study.robust),
        "individual-parameters": people_table(study.people, names),
    }
    if study.people.kinds is not None:
        out["kinds"] = kinds_table(study, study.people.kinds)
    if study.people.known is not None:
        caption = "Held-out error for people with earlier answers"
        out["later-answers"] = scores_table(study.people.known, grid.rule, caption)
    return out

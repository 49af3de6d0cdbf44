"""``townsquare fit-policy``: the statistical policy fitted to what people did."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from townsquare.cli import options
from townsquare.cli.console import complain, digits, number, picked, show, show_json, signed

if TYPE_CHECKING:
    from townsquare.humans.policy.fit import PolicyFit
    from townsquare.humans.policy.labels import Labels


def fit_policy(
    folder: Annotated[Path, Parameter(name="DIR")],
    /,
    *,
    headlines: Path | None = None,
    out: Path | None = None,
    replace: options.Replace = False,
    penalty: float | None = None,
    repeats: options.Positive = 2,
    seed: options.Seed = None,
    skip_bad: options.SkipBad = False,
    as_json: options.AsJson = False,
) -> int:
    """Estimate the settings of the statistical policy from human actions, and print them as YAML for `run`.

    The penalty is chosen on held-out people and posts. Use the file with `townsquare run FILE`, or copy its sections
    into a configuration file. Settings that the study cannot identify (flags, dislikes, follows, stances) keep their
    defaults.

    Parameters
    ----------
    folder
        Human actions on fixed feeds; see docs/policy-fit.md for the format.
    headlines
        A table of headlines, or its folder, with the effects of fact checks on sharing and belief.
    out
        Output YAML; default: print the settings.
    penalty
        Ridge penalty; default: the best on held-out data.
    repeats
        Number of random splits of people into halves and posts into folds.
    """
    import yaml

    from townsquare.core.errors import SettingError
    from townsquare.humans.policy.data import read_panel
    from townsquare.humans.policy.fit import fit_to
    from townsquare.humans.policy.labels import read_labels
    from townsquare.humans.policy.settings import as_settings

    if penalty is not None and not penalty > 0:
        raise SettingError("--penalty", got=str(penalty), allowed="a number above 0")
    labels = None if headlines is None else read_labels(headlines)
    panel = read_panel(folder, skip_bad=skip_bad)
    fitted = fit_to(panel, penalty=penalty, repeats=repeats, seed=42 if seed is None else seed)
    settings = as_settings(fitted.fit, labels)
    head = f"# townsquare fit-policy: {fitted.n} people, {fitted.posts} posts, penalty {fitted.fit.penalty:g}\n"
    text = head + yaml.safe_dump(settings, sort_keys=False)
    options.write(out, text, replace=replace)
    if as_json:
        return show_json(_plain(fitted, labels, settings))
    _show(fitted, labels)
    print(f"settings written to {out}" if out is not None else text)
    return 0


def _plain(result: PolicyFit, labels: Labels | None, settings: dict[str, object]) -> dict[str, object]:
    from townsquare.humans.policy.fit import coefficients

    facts = picked(result, "people=n", "posts", "actions", "tried", "loss_of_means", "intervals", "left_out")
    crowd = picked(result.fit.crowd, "activity_shape=shape", "silent_share=lurkers", "taste")
    checks = picked(labels, "labels=effects", "implied_truth=unsure") if labels else {}
    fitted = {"penalty": result.fit.penalty, "coefficients": coefficients(result.fit), "settings": settings}
    return {"event": "result", "labels": None, "implied_truth": None, **facts, **crowd, **fitted, **checks}


def _show(result: PolicyFit, labels: Labels | None) -> None:
    from townsquare.humans.policy.fit import coefficients

    print(f"{result.n} people, {result.posts} posts, {result.actions} actions\n")
    rows: list[tuple[Any, ...]] = [(number(tried.penalty), tried.loss, tried.rank) for tried in result.tried]
    rows.append(("mean rate of each kind", result.loss_of_means, None))
    columns = (str, "penalty"), (digits(5), "loss"), (digits(3), "rank correlation")
    show("On held-out people and posts", rows, *columns, words=())
    crowd = result.fit.crowd
    print(f"penalty {result.fit.penalty:g}; activity: shape {crowd.shape:.3g}, lurkers {crowd.lurkers:.3g};"
          f" tastes {', '.join(f'{x:.2g}' for x in crowd.taste)}\n")  # fmt: skip
    cells = [(name, value, *result.intervals[name]) for name, value in coefficients(result.fit).items()]
    ends = (digits(3), "value", "95% CI low", "95% CI high")
    show("Coefficients with 95% CIs (bootstrap of people and posts)", cells, (str, "coefficient"), ends)
    if labels is not None:
        _show_labels(labels)
    for sentence in result.left_out:
        complain(sentence, kind="left out")


def _show_labels(labels: Labels) -> None:
    show(
        f"Fact checks under {labels.headlines} headlines", labels.effects,
        (str, "question", "condition", "headline is=truth", "check says=verdict", "n=headlines"),
        (digits(3), "without=before", "with=after"), (digits(2, sign=True), "log odds=move"), (digits(2), "SE=error"),
    )  # fmt: skip
    text = "Implied truth effect (log odds of sharing a false headline, unverified − labeled false):"
    print(f"{text} {signed(labels.unsure, 2)}\n")

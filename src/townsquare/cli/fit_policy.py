"""``townsquare fit-policy``: the embedded policy fitted to what people did."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from townsquare.cli import options
from townsquare.cli.console import complain, console, number, show_json, signed, table

if TYPE_CHECKING:
    from townsquare.humans.policy.fit import PolicyFit
    from townsquare.humans.policy.labels import Labels

Folder = Annotated[
    Path, Parameter(name="DIR", help="People's actions on fixed feeds; docs/policy-fit.md says in what form.")
]
Headlines = Annotated[
    Path | None, Parameter(help="A table of headlines, or its folder: what fact checks do to sharing and belief.")
]
File = Annotated[
    Path | None, Parameter(name="--out", help="Write the settings there as YAML instead of printing them.")
]
Penalty = Annotated[
    float | None, Parameter(help="Of the ridge; by default the one that does best on what it has not seen.")
]
Repeats = Annotated[
    int, Parameter(converter=options.whole, help="Random cuts of people into halves and posts into folds.")
]
SkipBad = Annotated[bool, Parameter(negative="", help="Leave out rows that are wrong, and count them.")]


def fit_policy(
    folder: Folder,
    /,
    *,
    headlines: Headlines = None,
    out: File = None,
    replace: options.Replace = False,
    penalty: Penalty = None,
    repeats: Repeats = 2,
    seed: options.Seed = None,
    skip_bad: SkipBad = False,
    as_json: options.AsJson = False,
) -> int:
    """Estimate the settings of the statistical policy from people, and print them as YAML for `run`.

    The penalty is chosen on people and posts that a fit has not seen. Use the file as `townsquare run FILE`, or copy
    its sections. What such a study cannot tell (flags, dislikes, follows, stances) stays as shipped.
    """
    import yaml

    from townsquare.core.errors import SettingError
    from townsquare.humans.policy.data import read_panel
    from townsquare.humans.policy.fit import fit_to
    from townsquare.humans.policy.labels import read_labels
    from townsquare.humans.policy.settings import as_settings

    if penalty is not None and not penalty > 0:
        raise SettingError("--penalty", got=str(penalty), allowed="a number above 0")
    if repeats < 1:
        raise SettingError("--repeats", got=str(repeats), allowed="at least 1")
    labels = None if headlines is None else read_labels(headlines)
    found = fit_to(
        read_panel(folder, skip_bad=skip_bad), penalty=penalty, repeats=repeats, seed=42 if seed is None else seed
    )
    settings = as_settings(found.fit, labels)
    said = f"# townsquare fit-policy: {found.n} people, {found.posts} posts, penalty {found.fit.penalty:g}\n"
    text = said + yaml.safe_dump(settings, sort_keys=False)
    if out is not None:
        with options.writing(out, replace=replace):
            out.write_text(text, encoding="utf-8")
    if as_json:
        show_json(_plain(found, labels, settings))
        return 0
    _show(found, labels)
    print(f"settings in {out}" if out is not None else text)
    return 0


def _plain(found: PolicyFit, labels: Labels | None, settings: dict[str, object]) -> dict[str, object]:
    from townsquare.humans.policy.fit import coefficients

    return {
        "event": "result",
        "people": found.n,
        "posts": found.posts,
        "actions": found.actions,
        "penalty": found.fit.penalty,
        "tried": [{"penalty": one.penalty, "loss": one.loss, "rank": one.rank} for one in found.tried],
        "loss_of_means": found.loss_of_means,
        "coefficients": coefficients(found.fit),
        "intervals": found.intervals,
        "activity_shape": found.fit.crowd.shape,
        "silent_share": found.fit.crowd.silent,
        "taste": found.fit.crowd.taste.tolist(),
        "labels": None if labels is None else [_effect(one) for one in labels.effects],
        "implied_truth": None if labels is None else labels.unsure,
        "settings": settings,
        "left_out": list(found.left_out),
    }


def _effect(one: object) -> dict[str, object]:
    from dataclasses import asdict

    return asdict(one)  # type: ignore[call-overload, no-any-return]


def _show(found: PolicyFit, labels: Labels | None) -> None:
    from townsquare.humans.policy.fit import coefficients

    print(f"{found.n} people, {found.posts} posts, {found.actions} actions\n")
    rows = [(number(one.penalty), number(one.loss, 5), number(one.rank, 3)) for one in found.tried]
    rows.append(("mean rate of each kind", number(found.loss_of_means, 5), "–"))
    titles = ("penalty", "loss", "rank correlation")
    console().print(table("On people and posts not seen", titles, rows, right=titles))
    crowd = found.fit.crowd
    print(f"penalty {found.fit.penalty:g}; activity: shape {crowd.shape:.3g}, silent {crowd.silent:.3g};"
          f" tastes {', '.join(f'{x:.2g}' for x in crowd.taste)}\n")  # fmt: skip
    cells = [
        (name, number(value, 3), *(number(x, 3) for x in found.intervals[name]))
        for name, value in coefficients(found.fit).items()
    ]
    columns = ("coefficient", "value", "2.5 %", "97.5 %")
    console().print(table("Intervals: people and posts drawn again", columns, cells, right=columns[1:]))
    if labels is not None:
        _show_labels(labels)
    for sentence in found.left_out:
        complain(sentence, kind="left out")


def _show_labels(labels: Labels) -> None:
    cells = [
        (
            one.question, one.condition, one.truth, one.verdict, one.headlines, number(one.before, 3),
            number(one.after, 3), signed(one.move, 2), number(one.error, 2),
        )
        for one in labels.effects
    ]  # fmt: skip
    columns = ("question", "condition", "headline is", "check says", "n", "without", "with", "log odds", "error")
    console().print(table(f"Fact checks under {labels.headlines} headlines", columns, cells, right=columns[4:]))
    print(
        f"implied truth: a false headline that the check leaves open is shared more than one it calls false, by"
        f" {signed(labels.unsure, 2)} in log odds\n"
    )

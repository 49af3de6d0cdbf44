"""``townsquare check waves``: later answers of the people of a survey, beside what the rule says of them."""

from __future__ import annotations

from pathlib import Path

from townsquare.cli import options
from townsquare.cli.console import complain, digits, known, show, show_json


def waves(
    folder: options.Folder,
    /,
    *,
    out: Path | None = None,
    replace: options.Replace = False,
    as_json: options.AsJson = False,
) -> int:
    """Compare what respondents answered in later waves with the stances of their agents.

    Parameters
    ----------
    out
        Output CSV of the respondents as trajectories, for `townsquare fit`.
    """
    from townsquare.experiments.run_folders import settings_of
    from townsquare.humans.waves import check_waves, trajectories_csv, waves_of
    from townsquare.record.run import Run

    run = Run.open(folder)
    asked = waves_of(run, settings_of(run, str(folder)))
    checked = check_waves(run, asked)
    if out is not None:
        options.write(out, trajectories_csv(run, asked), replace=replace)
    if as_json:
        return show_json({"waves": checked, "trajectories": str(out) if out else None})
    signed = known(digits(3, sign=True))
    show(
        "Later waves of the survey, and what the rule says of the same people", checked,
        (str, "proposition", "wave", "step", "respondents"), (signed, "measured change=measured", "simulated"),
        (digits(3), "error of the rule=error", "error of no change=error_still"), (signed, "correlation"),
        words=("proposition",),
    )  # fmt: skip
    for check in checked:
        gain = 1 - check.error / check.error_still if check.error_still else -check.error
        by = f"{abs(gain):.1%} " if check.error_still else ""
        small = abs(gain) < (0.001 if check.error_still else 1e-12)
        than = "about equal to" if small else f"{by}{'smaller' if gain > 0 else 'larger'} than"
        print(f"Wave {check.wave}, {check.proposition}: the error of the rule is {than} that of no change.")
    if not checked:
        complain("the run ends before the second wave, or nobody answered twice", kind="note")
    if out is not None:
        print(f"Trajectories: {out}\nFit a rule:   townsquare fit {out}")
    return 0

"""The methods of a recorded study in a paragraph for a paper, with versions, hashes and a citation."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from townsquare.analysis.clock import clock_of
from townsquare.analysis.contract import setting
from townsquare.analysis.outcomes import describe
from townsquare.core.words import count, listed, number
from townsquare.experiments.answer import as_noun, title_of
from townsquare.experiments.bundle.freeze import environment
from townsquare.experiments.manifest import Experiment
from townsquare.record.run import Run

PROTOCOL = "protocol.md"
"""The description of the study by ODD+D, beside ``methods.md``."""
MOST_HASHES = 100
"""Runs whose hashes are listed; ``experiment.json`` holds all."""
_STATED = ("scenario", "agents", "steps", "policy.name", "graph.kind", "beliefs.rule")
"""Settings that the paragraph states."""


def methods(recorded: Run | Experiment) -> str:
    """Return Markdown: what was run and how it was compared, the hashes of the runs, how to cite the program."""
    if isinstance(recorded, Run):
        return _whole([recorded], _simulated(recorded, "one run"), [("", recorded)])
    runs = [(run, Run.open(recorded.folder / run.folder)) for run in recorded.finished]
    first = runs[0][1]
    arms, seeds = count(len(recorded.arms), "arm"), count(len(recorded.seeds), "seed")
    varied = listed([f"`{key}`" for key in recorded.vary]) or "no setting"
    what = describe(recorded.primary) if recorded.primary else None
    meaning = as_noun(what.definition.rstrip("."), "") if what else ""
    primary = f" The primary outcome was the {as_noun(what.title, what.name)}: {meaning}." if what else ""
    sure = "without confidence intervals, since there is one seed only"
    if len(recorded.seeds) > 1:
        sure = f"with 95% Student's t confidence intervals over {seeds}; p values are corrected by Holm's method"
    compared = (
        f" Arms differed in {varied}; all arms of a seed shared population, follow graph, posts and random draws. "
        f"Effects are mean differences from `{recorded.baseline}`, paired by seed, {sure}.{primary}"
    )
    stated = listed([f"`{key}`" for key in recorded.vary if key in _STATED])
    compared += f" Values of {stated} above are those of `{recorded.finished[0].arm}`." if stated else ""
    if len(recorded.arms) == 1:
        compared = primary
    if len(runs) < len(recorded.runs):
        compared += f" {number(len(runs))} of {count(len(recorded.runs), 'run')} are finished; the others are left out."
    named = [(f"{run.arm}, seed {run.seed}", opened) for run, opened in runs]
    return _whole([run for _, run in runs], _simulated(first, f"{arms} with {seeds} each") + compared, named)


def _simulated(run: Run, how_many: str) -> str:
    config = run.settings
    people, steps = count(int(config["agents"]), "person", "people"), count(int(config["steps"]), "step")
    clock = clock_of(run)
    done = f"the first {number(clock.last)} of {steps}" if clock.last < config["steps"] else steps
    counted = ""
    if clock.warm_up:
        warm_up = f"the warm-up, the first {count(clock.warm_up, 'step')}"
        counted = f" Measures leave out {warm_up}, except where they say otherwise."
    rule, policy, graph = (setting(run, *path) for path in (("beliefs", "rule"), ("policy", "name"), ("graph", "kind")))
    return (
        f"We simulated the scenario “{escape(title_of(run), quote=False)}” with Townsquare {run.version}: {how_many}, "
        f"{people} at the start, {done}. Agents acted by the policy `{policy}` on a `{graph}` follow graph; beliefs "
        f"changed by the rule `{rule}`.{counted} Parameters not named here had the values in `run.yaml`."
    )


def _whole(runs: Sequence[Run], paragraph: str, named: Sequence[tuple[str, Run]]) -> str:
    packages = ", ".join(f"{name} {version}" for name, version in environment().items())
    hashes = [f"- {label + ': ' if label else ''}`{run.content_hash}`" for label, run in named[:MOST_HASHES]]
    more = [f"- {len(named) - MOST_HASHES:,} more in experiment.json"] if len(named) > MOST_HASHES else []
    cited = f"The Townsquare authors. Townsquare (version {runs[0].version}). Computer software."
    return "\n".join(
        [
            "# Methods", "", paragraph, "", f"[{PROTOCOL}]({PROTOCOL}) describes the study by the elements of ODD+D "
            "and has the PIMMUR checklist.", "", f"Figures and tables were made with {packages}.", "",
            "Content hashes of the runs:", "", *hashes, *more, "", "Cite as:", "", f"> {cited}", "",
        ]
    )  # fmt: skip

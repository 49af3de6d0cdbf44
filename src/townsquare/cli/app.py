"""The commands, by name. Each is imported when it is called, or when its help is shown."""

from __future__ import annotations

from importlib.metadata import version

from cyclopts import App

app = App(
    name="townsquare",
    help="Simulate a public on a social network, with explicit beliefs and a cause on record for every change of mind.",
    version=lambda: version("townsquare"),
    help_format="plaintext",
    suppress_keyboard_interrupt=False,  # main() says something
)
check = App(name="check", help="Check this installation against recorded numbers.", help_format="plaintext")

COMMANDS = {
    "run": ("run:run", "Simulate a scenario and record everything."),
    "resume": ("run:resume", "Go on with a run that was stopped."),
    "replay": ("replay:replay", "Execute a recorded run again, offline, and compare every step."),
    "branch": ("replay:branch", "Execute a recorded run with other settings from a step on."),
    "interview": ("ask:interview", "Ask agents of a recorded run a question."),
    "panel": ("ask:panel", "Have everybody react once to given feeds."),
    "forecast": ("forecast:forecast", "Estimate calls, tokens and cost of a run with a language model."),
    "compare": ("compare:compare", "Run arms x seeds and compare with the first arm."),
    "power": ("power:power", "Say how many seeds a comparison needs, from a pilot."),
    "bundle": ("bundle:bundle", "Freeze a study in one file: settings, hypotheses, measures, hashes."),
    "verify": ("bundle:verify", "Check a bundle, and execute a sample of its runs again."),
    "why": ("why:why", "Show what moved an agent's beliefs."),
    "attribute": ("attribute:attribute", "Show what each post, author or label contributed to beliefs."),
    "counterfactual": ("counterfactual:counterfactual", "Beliefs without a post, an author, a record, or false posts."),
    "inspect": ("inspect:inspect", "Show what a run or a comparison holds, and verify it."),
    "view": ("view:view", "Show runs in the browser, live while they go on."),
    "analyze": ("analyze:analyze", "Write every analysis of a run as tables."),
    "report": ("report:report", "Write report.html for recorded runs and comparisons."),
    "fetch": ("fetch:fetch", "Copy runs, comparisons or debates from an object store into a folder."),
    "export": ("export:export", "Write the tables of a run for other programs."),
    "export-graph": ("graph:export_graph", "Write the follow graph after a step, for other tools."),
    "prune": ("prune:prune", "List and remove unfinished runs, and records of finished ones."),
    "init": ("init:init", "Write a commented scenario to start from."),
    "doctor": ("doctor:doctor", "Show what is installed and missing, and what a planned run needs."),
    "debate": ("debate:debate", "Let two agents debate a proposition, with every move on record."),
    "sweep": ("sweep:sweep", "Hold debates under settings that vary."),
    "fit": ("fit:fit", "Fit a belief rule to people, held out, beside its baselines."),
    "fit-policy": ("fit_policy:fit_policy", "Estimate the embedded policy from what people did."),
    "scenarios": ("listings:scenarios", "List the bundled scenarios and presets."),
    "schema": ("listings:schema", "Print the JSON Schema of all settings."),
}
for _name, (_target, _help) in COMMANDS.items():
    app.command(f"townsquare.cli.{_target}", name=_name, help=_help)
check.command("townsquare.cli.check:golden", name="golden", help="Compare golden files of published functions.")
_EXPRESSION_HELP = "Compare the stances that speakers are given with what a judge reads in their words."
check.command("townsquare.cli.check_expression:expression", name="expression", help=_EXPRESSION_HELP)
_JUDGE_HELP = "Compare the embedded judges of arguments with what people labelled."
check.command("townsquare.cli.check_judge:judge", name="judge", help=_JUDGE_HELP)
_THETA_HELP = "Measure which cosine means near-duplicate for an embedder."
check.command("townsquare.cli.check_theta:theta", name="theta", help=_THETA_HELP)
_POLICY_HELP = "Compare the embedded policy with people, and with language-model agents made of them."
check.command("townsquare.cli.check_policy:policy", name="policy", help=_POLICY_HELP)
app.command(check)

prompts = App(name="prompts", help="Show what language models are told.", help_format="plaintext")
prompts.command("townsquare.cli.forecast:prompts_list", name="list", help="List the prompts.")
prompts.command("townsquare.cli.forecast:prompts_show", name="show", help="Print a prompt, filled in.")
app.command(prompts)

PERSONAS = {
    "from-survey": ("from_survey", "Make one persona of each respondent of a survey."),
    "sample": ("sample", "Draw personas as a run would have them."),
    "describe": ("describe", "Count answers beside the shares that the question bank states."),
}
personas = App(name="personas", help="Make personas, and count what they answer.", help_format="plaintext")
for _name, (_target, _help) in PERSONAS.items():
    personas.command(f"townsquare.cli.personas:{_target}", name=_name, help=_help)
personas.command("townsquare.cli.ask:rewrite", name="rewrite", help="Have a language model write personas anew.")
app.command(personas)
app.register_install_completion_command(help="Install completion of commands and options for this shell.")

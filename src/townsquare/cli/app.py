"""The commands, by name. Each is imported when it is called, or when its help is shown."""

from __future__ import annotations

from importlib.metadata import version

from cyclopts import App, Parameter

app = App(
    name="townsquare",
    help="Simulate a public on a social network, with explicit beliefs and a cause on record for every change of mind.",
    version=lambda: version("townsquare"),
    help_format="plaintext",
    suppress_keyboard_interrupt=False,  # main() says something
    default_parameter=Parameter(negative=""),  # an option has a negative form only where it is named
)

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
    "import": ("importing:import_files", "Make a scenario of a platform's export."),
    "init": ("init:init", "Write a commented scenario to start from."),
    "doctor": ("doctor:doctor", "Show what is installed and missing, and what a planned run needs."),
    "debate": ("debate:debate", "Let two agents debate a proposition, with every move on record."),
    "sweep": ("sweep:sweep", "Hold debates under settings that vary."),
    "fit": ("fit:fit", "Fit a belief rule to people, held out, beside its baselines."),
    "fit-policy": ("fit_policy:fit_policy", "Estimate the embedded policy from what people did."),
    "scenarios": ("listings:scenarios", "List the bundled scenarios and presets."),
    "schema": ("listings:schema", "Print the JSON Schema of all settings."),
}
CHECKS = {
    "golden": ("check:golden", "Compare golden files of published functions."),
    "expression": ("check_expression:expression", "Compare the stances of speakers with what a judge reads."),
    "judge": ("check_judge:judge", "Compare the embedded judges of arguments with what people labeled."),
    "theta": ("check_theta:theta", "Measure which cosine means near-duplicate for an embedder."),
    "policy": ("check_policy:policy", "Compare the embedded policy with people and with language models."),
}
PROMPTS = {
    "list": ("forecast:prompts_list", "List the prompts."),
    "show": ("forecast:prompts_show", "Print a prompt, filled in."),
}
PERSONAS = {
    "from-survey": ("personas:from_survey", "Make one persona of each respondent of a survey."),
    "sample": ("personas:sample", "Draw personas as a run would have them."),
    "describe": ("personas:describe", "Count answers beside the shares that the question bank states."),
    "rewrite": ("ask:rewrite", "Have a language model write personas anew."),
}
GROUPS = {
    "check": ("Check this installation against recorded numbers.", CHECKS),
    "prompts": ("Show what language models are told.", PROMPTS),
    "personas": ("Make personas, and count what they answer.", PERSONAS),
}


def _add(to: App, commands: dict[str, tuple[str, str]]) -> None:
    for name, (target, said) in commands.items():
        to.command(f"townsquare.cli.{target}", name=name, help=said)


_add(app, COMMANDS)
for _group, (_help, _commands) in GROUPS.items():
    app.command(_added := App(name=_group, help=_help, help_format="plaintext"))
    _add(_added, _commands)
app.register_install_completion_command(help="Install completion of commands and options for this shell.")

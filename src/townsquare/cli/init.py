"""``townsquare init``: a scenario to start from, of a template or of one's own posts and survey."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from townsquare.cli import options
from townsquare.cli.console import answer, asked, complain, safe, show
from townsquare.core.errors import SettingError
from townsquare.core.files import bundled_folder, writing

if TYPE_CHECKING:
    from townsquare.scenario.starting import Start

NO_PROPOSITION = (
    "none: posts spread, and no attitude is measured. To measure one, replace the keys of an item in mapping.yaml with "
    "`stance: NAME`, `statement: TEXT` and `values: {ANSWER: NUMBER from -1 to 1}`"
)


def init(
    folder: Annotated[Path, Parameter(name="DIR")],
    /,
    *,
    posts: Annotated[Path | None, Parameter(name="--from")] = None,
    survey: list[Path] | None = None,
    yes: bool = False,
    as_json: options.AsJson = False,
) -> int:
    """Write a runnable scenario: a commented template, or one from your posts and your survey.

    With --from, the meaning of each column is guessed, stated, and written to mapping.yaml, which later runs read: edit
    it where a guess is wrong. The settings are then those of the scenario health-rumor, except 1,000
    people and 7 days with a warm-up of 1 day.

    Parameters
    ----------
    folder
        Output folder, created if missing.
    posts
        CSV, TSV, JSONL or Parquet of posts.
    survey
        With --from: survey answers, one row per respondent; repeat the option for later waves of the same people.
    yes
        Accept all guesses without questions; every rating scale becomes a proposition.
    """
    _check_unrecorded(folder)
    # A bare word may be the name of a bundled scenario; a path is not.
    target = folder if folder.is_absolute() or len(folder.parts) > 1 else f"./{folder}"
    if posts is None:
        if survey or yes:
            do = "add --from POSTS: a table with a column of texts"
            raise SettingError("--survey" if survey else "--yes", got="no posts", allowed="with --from", do=do)
        files = write_starter(folder)
        written: dict[str, object] = {"files": [str(file) for file in files], "run": f"townsquare run {target}"}
        return answer(written, *files, f"run it   townsquare run {target}", as_json=as_json)
    from townsquare.scenario.starting import read_start, write_start

    start = read_start(posts, survey or ())
    if not as_json:
        _show_guesses(start)
    chosen, stated = _propositions(start, ask=not yes and not as_json)
    files = write_start(start, folder, chosen, stated)
    commands = [f"townsquare run {target}"]
    arms = "none,label,note,takedown"
    commands += [f"townsquare compare {target} --vary moderation.response={arms} --seeds 3"]
    notes, columns = _counted(folder), start.survey.columns if start.survey else ()
    facts: dict[str, object] = {
        "files": [str(file) for file in files], "propositions": [*chosen, *stated], "notes": [*start.notes, *notes],
        "posts": dict(start.posts), "columns": columns,
        "commands": commands,
    }  # fmt: skip
    if not as_json:
        for sentence in (*start.notes, *notes):
            complain(sentence, kind="note")
    lines = [f"Propositions: {', '.join([*chosen, *stated]) or NO_PROPOSITION}"]
    lines += [f"Guesses to check: {folder / 'mapping.yaml'}", f"Run it:  {commands[0]}", f"Compare: {commands[1]}"]
    return answer(facts, *lines, as_json=as_json)


def _check_unrecorded(folder: Path) -> None:
    """Refuse a folder that holds a run, a comparison or debates: a scenario in it would look like what they ran.

    Raises
    ------
    SettingError
        It holds one.
    """
    from townsquare.debate.results import FILE as DEBATES
    from townsquare.experiments.manifest import FILE as COMPARISON
    from townsquare.record.database import FILE as RUN

    for file, what in ((RUN, "a recorded run"), (COMPARISON, "a comparison"), (DEBATES, "debates")):
        if (folder / file).exists():
            do = "name another folder, new or empty, for the scenario"
            raise SettingError(str(folder), got=f"a folder that holds {what}", do=do)


def _show_guesses(start: Start) -> None:
    """Print what every column was guessed to mean."""
    rows = [(start.tables.titles.get(name, name), known, "") for name, known in start.posts.items()]
    toward = "stance toward the first proposition" if start.takes_stances and start.items else "not used"
    for name in start.tables.posts.columns:
        if name not in start.posts:
            rows += [(start.tables.titles.get(name, name), toward if name == "stance" else "not used", "")]
    show(f"{len(start.tables.posts.records):,} posts", rows, (str, "column", "read as", " "))
    survey, answers = start.survey, start.tables.answers
    if survey is None or answers is None:
        return
    named = [(survey.id, "id", "names of agents"), (survey.weight, "weight", "survey weights")]
    listed = [row for row in named if row[0]]
    listed += [(guess.column, _in_short(guess.meaning), guess.why) for guess in survey.columns]
    show(f"{len(answers.records) - survey.skip_rows:,} respondents", listed, (str, "column", "read as", "why"))
    if survey.missing:
        print(f"Read as no answer: an empty cell, {', '.join(safe(word) for word in survey.missing)}")


def _in_short(meaning: dict[str, object] | None) -> str:
    if meaning is None:
        return "left out"
    if "stance" in meaning:
        return f"rating {meaning['stance']}" + (f", wave {meaning['wave']}" if "wave" in meaning else "")
    return f"{meaning['kind']} trait {meaning['trait']}" if "trait" in meaning else "free text"


def _propositions(start: Start, *, ask: bool) -> tuple[list[str], list[str]]:
    """Return the items that are propositions, and further statements: asked for at a terminal, else all items."""
    items = [str((guess.meaning or {})["stance"]) for guess in start.items]
    if not ask:
        return items, []
    if not sys.stdin.isatty():
        raise SettingError("--yes", got="no terminal to ask at", allowed="--yes, which takes the guesses")
    if items:
        for number, guess in enumerate(start.items, 1):
            print(f"  {number}  {safe((guess.meaning or {})['statement'])}")
        given = asked(f"Which of these are propositions? Numbers, or Enter for all {len(items)}: ").replace(",", " ")
        if not all(word.isdecimal() and 1 <= int(word) <= len(items) for word in given.split()):
            raise SettingError("propositions", got=repr(given[:80]), allowed=f"numbers from 1 to {len(items)}")
        return [items[int(word) - 1] for word in given.split()] or items, []
    statement = asked("No rating scale was listed. A statement that beliefs are about, or Enter for none: ")
    return [], [statement] if statement else []


def _counted(folder: Path) -> list[str]:
    """Return what of the written scenario is not used, counted by reason: it is read as a run would."""
    from townsquare.scenario.load import load_scenario
    from townsquare.scenario.population.sample import people_notes, survey_of
    from townsquare.scenario.settings import resolve_with_scenario

    scenario = load_scenario(folder)
    settings = resolve_with_scenario({"scenario": str(folder)}, scenario=scenario)
    still = scenario.proposition_names and not scenario.posts.takes_stances
    do = "".join(f"give posts a column stance:{name} from -1 to 1" for name in scenario.proposition_names[:1])
    silent = [f"posts take no stance, so attitudes hardly move: {do}"] if still else []
    survey = survey_of(settings.config.population, scenario.folder)
    asked = [f"wave {wave} is taken as asked at step {step}" for wave, step in survey.steps.items()] if survey else []
    again = [f"{', '.join(asked)}: change `waves` in mapping.yaml if that is wrong"] if asked else []
    return [*silent, *again, *scenario.notices, *people_notes(settings.config.population, scenario.folder)]


# A commented scenario to start from.


FILES = ("scenario.yaml", "posts.csv", "arguments.csv")


def write_starter(folder: Path) -> list[Path]:
    """Write a runnable scenario into a folder, created if missing, and return the files.

    Raises
    ------
    SettingError
        One of the files already exists, and nothing is written; or the file system refuses.
    """
    targets = [folder / name for name in FILES]
    for path in targets:
        if path.exists():
            raise SettingError(str(path), got="a file that already exists", do="name another folder")
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for path in targets:
            path.write_bytes((bundled_folder() / "starter" / path.name).read_bytes())
    return targets

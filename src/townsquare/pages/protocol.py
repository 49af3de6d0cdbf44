"""The description of a study for reviewers: ODD+D and the PIMMUR checklist, as Markdown and as a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from townsquare.analysis.contract import setting
from townsquare.analysis.facts.check import FactCheck
from townsquare.analysis.facts.table import short_number
from townsquare.core.arguments import checked
from townsquare.core.errors import RecordError, SettingError
from townsquare.core.files import write_whole
from townsquare.core.text_table import Table, table
from townsquare.core.words import count, printable
from townsquare.debate.protocol import DebateFacts
from townsquare.debate.results import DebateResults
from townsquare.experiments.facts import check_facts
from townsquare.experiments.manifest import Experiment
from townsquare.experiments.multiverse import Multiverse
from townsquare.experiments.protocol.checklist import NO, PARTLY, YES, Measured, checklist
from townsquare.experiments.protocol.document import Answer, Author, Block, Code, Document, describe
from townsquare.experiments.protocol.runs import RunFacts
from townsquare.humans.effects.check import check_people
from townsquare.models.store import recorded_calls
from townsquare.pages.people import arms
from townsquare.pages.recorded import opened
from townsquare.pages.report.page import Page
from townsquare.record.run import Run

MARKDOWN, HTML = "protocol.md", "protocol.html"
_RULES_OF_FACTS = ("credence", "averaging")  # whose facts `check facts` measures
_NAMED = " and ".join(f"`{name}`" for name in _RULES_OF_FACTS)
_PEOPLE = (
    "how the belief rule of this study compares with experiments on people: `townsquare protocol --people DIR`, if the "
    "rule is `credence` or `averaging`."
)


@checked
def protocol(
    recorded: Run | Experiment | DebateResults | Path | str, *, people: Sequence[Path | str] | Path | str = ()
) -> Document:
    """Describe a study by the elements of the ODD+D protocol, followed by the PIMMUR checklist.

    Values come from the record. What you must add is marked ``Author: state ...``.

    Parameters
    ----------
    recorded : Run, Experiment, DebateResults, Path or str
        A run, a comparison or debates, or the folder of one.
    people : sequence of Path or str, or one of them
        Folders of experiments with people for the checklist, as :func:`townsquare.check_people` takes them.

    Returns
    -------
    Document
        ``markdown()`` returns the text; ``elements`` lists its parts, ``for_author`` what you must add.

    Raises
    ------
    RecordError
        The folder holds no record, or a comparison without a finished run.
    SettingError
        The folder holds a multiverse: describe one of its comparisons.
    """
    read = opened(Path(recorded)) if isinstance(recorded, Path | str) else recorded
    folders = [people] if isinstance(people, Path | str) else list(people)
    if isinstance(read, Multiverse):
        do = "name the folder of one of its comparisons"
        raise SettingError("RUN", got="a multiverse", allowed="a run, a comparison or debates", do=do)
    if isinstance(read, DebateResults):
        return _of_debates(DebateFacts(read), folders)
    if isinstance(read, Experiment) and not read.finished:
        raise RecordError(str(read.folder), got="no finished run", do="finish the comparison first")
    return _of_runs(RunFacts(read), folders)


def write_protocol(document: Document, path: Path) -> list[Path]:
    """Write a description as Markdown and as HTML, under one name; return both files.

    Raises
    ------
    RecordError
        They cannot be written there.
    """
    markdown, page = path.with_suffix(".md"), path.with_suffix(".html")
    write_whole(markdown, document.markdown(), parents=True)
    return [markdown, protocol_page(document).write(page)]


def protocol_page(document: Document) -> Page:
    """Make the page of a description: one file, without scripts or requests."""
    left = [text.replace("`", "") for text in document.for_author]
    return Page(
        "protocol.html", title=document.title, facts=document.facts, document=document, left=left, blocks=_kinds
    )


def _kinds(answer: Answer) -> Iterator[tuple[str, Block]]:
    """Yield what the template does with each block."""
    for block in answer.blocks:
        if isinstance(block, Table):
            cells = [[cell.replace("`", "") for cell in row] for row in block.rows]
            yield "table", replace(block, rows=cells, caption=block.caption.replace("`", ""))
        else:
            yield "code" if isinstance(block, Code) else "author" if isinstance(block, Author) else "text", block


def _of_runs(facts: RunFacts, people: Sequence[Path | str]) -> Document:
    shown = [
        ("scenario", str(facts.config.scenario).replace("\\", "/").rpartition("/")[2]),
        ("agents", facts.values["persons"]),
        ("steps", facts.values["steps"]),
        ("seed" if len(facts.runs) == 1 else "seeds", facts.values["seed_list"]),
        ("Townsquare", facts.run.version),
        ("content hash", facts.run.content_hash[:16]),
    ]
    realism, verdict = _held_against_facts(facts.recorded, str(setting(facts.run, "beliefs", "rule")))
    calls = [call for run in facts.runs if run.folder for call in recorded_calls(run.folder)]
    measured = Measured("queries", facts.total, calls, [*realism, *_held_against_people(people)], verdict)
    return Document(facts.title, tuple(shown), (*describe(facts.study()), checklist(measured)))


def _of_debates(facts: DebateFacts, people: Sequence[Path | str]) -> Document:
    if not facts.records:
        raise RecordError(str(facts.results.folder), got="no finished debate", do="finish the debates first")
    names = ("arms", "trials", "rounds", "turns")
    shown = (*((name, facts.values[name]) for name in names), ("Townsquare", facts.values["version"]))
    realism = _held_against_people(people)
    verdict = (
        f"{NO}: facts about platforms say nothing of debates, and experiments on people test the belief rules "
        f"{_NAMED}, which no debate uses."
    )
    measured = Measured("debate", facts.n, facts.calls, realism, verdict)
    return Document(facts.title, shown, (*describe(facts.study()), checklist(measured)))


def _held_against_facts(recorded: Run | Experiment, rule: str) -> tuple[list[Block], str]:
    """Return facts about platforms and people held against the record, those of belief rules apart; the verdict."""
    report = check_facts(recorded)
    scored = [check for check in report.checks if check.scored and check.fact.scope != "rule"]
    of_rule = [check for check in report.checks if check.scored and check.fact.scope == "rule"]
    inside = [check for check in scored if check.inside]
    verdict = (NO if not inside else YES if len(inside) == len(scored) else PARTLY) if scored else NO
    rules = f"{report.of_rules} They are measured on the rules, not on this record."
    if rule not in _RULES_OF_FACTS:
        of_rule, rules = [], f"Facts of belief rules are measured for {_NAMED}; this run uses `{rule}`."
    query = "Query: `townsquare check facts FOLDER`; sources are in `docs/realism.md`."
    parts = ("Published facts and this record", scored), (f"Published facts and the belief rules {_NAMED}", of_rule)
    tables = [_fact_table(caption, checks) for caption, checks in parts if checks]
    return tables, f"{verdict}: {report.answer} {rules} {query}"


def _fact_table(caption: str, checks: Sequence[FactCheck]) -> Block:
    rows = [
        (check.fact.id, check.fact.statement, short_number(check.value), check.fact.target, check.fact.unit,
         check.verdict)
        for check in checks
    ]  # fmt: skip
    return table(caption, rows, (str, "fact", "statement"), (str, "value", "published interval", "unit", "inside"))


def _held_against_people(folders: Sequence[Path | str]) -> list[Block]:
    """Return the shipped rules held against experiments on people, or what the author must state."""
    if not folders:
        return [Author(_PEOPLE)]
    compared = check_people(folders)
    lines = [printable(line, 300) for line in arms.answer(compared)]
    head = f"{count(len(compared), 'arm')} of experiments on people, compared with the belief rules {_NAMED}:"
    return [head, *lines, *arms.tables(compared)]

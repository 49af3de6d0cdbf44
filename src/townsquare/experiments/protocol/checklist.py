"""The PIMMUR checklist: profile, interaction, memory, minimal control, unawareness, realism, each with its query.

Source: Zhou and others (2025), "The PIMMUR principles: ensuring validity in collective behavior of LLM societies",
arXiv 2509.18052. Queries and words are in ``data/pimmur.yaml``.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from townsquare.core.documents import read_yaml
from townsquare.core.files import bundled_folder
from townsquare.core.text_table import table
from townsquare.core.words import count, number
from townsquare.experiments.protocol.document import Answer, Author, Block, Element, Part, quoted
from townsquare.models.contract import Call

TITLE = "PIMMUR checklist"
YES, PARTLY, NO, NOT_APPLICABLE = "Yes", "Partly", "No", "Not applicable"
INSTRUCTION_SHARE = 0.5
"""A line that stands in more than this share of the prompts of a purpose is an instruction; others are content."""
_WHERE = "calls.db: SELECT request FROM ts_calls; whole words, case ignored"


class WordFound(NamedTuple):
    """A word in recorded prompts: how many hold it in an instruction, how many in other content, and an example."""

    category: str
    word: str
    instructions: int
    contents: int
    example: str


@dataclass(frozen=True, slots=True)
class Measured:
    """What a checklist is made from.

    Attributes
    ----------
    kind : str
        ``queries`` for runs, ``debate`` for debates: which queries of ``data/pimmur.yaml``.
    ask : callable
        Answers a query with a number.
    calls : iterable of Call
        Recorded calls of language models.
    realism : sequence of blocks
        What was held against people.
    verdict : str
        The verdict on realism.
    """

    kind: str
    ask: Callable[[str], int]
    calls: Iterable[Call]
    realism: Sequence[Block]
    verdict: str


_HOW = """\
Values are sums over all runs, so that a person counts once in each run. The query of one run in Python:
`ts.Run.open("FOLDER").sql("QUERY")`.""".replace("\n", " ")


@cache
def _listed() -> dict[str, Any]:
    whole: Any = read_yaml(bundled_folder() / "pimmur.yaml")
    return dict(whole)


def checklist(measured: Measured) -> Part:
    """Answer the six conditions of PIMMUR from the record."""
    prompts = _prompts(measured.calls)
    elements = []
    for item in _listed()["items"]:
        key, queries = item["key"], item.get(measured.kind, {})
        values = {name: measured.ask(query) for name, query in queries.items()}
        if key in _listed()["words"]:
            blocks = _words_blocks(key, prompts)
        elif key == "realism":
            blocks = [measured.verdict, *measured.realism]
        else:
            verdict = _VERDICTS[key](list(values.values()), measured.kind == "debate")
            rows = [(name, values[name], f"`{query}`") for name, query in queries.items()]
            note = "" if measured.kind == "debate" else _HOW
            blocks = [verdict, table("Measured", rows, (str, "what"), (number, "value"), (str, "query"), note=note)]
        elements.append(Element(f"pimmur-{key}", item["title"], (Answer(item["ask"], tuple(blocks)),)))
    return Part(TITLE, tuple(elements))


def _profile(n: list[int], is_debate: bool) -> str:
    if is_debate:
        agents, personas, profiles, stances = n
        have = f"{number(personas)} of {count(agents, 'agent')} have a persona"
        different = f"{count(profiles, 'profile')}, {count(stances, 'different initial stance')}"
        return f"{YES if personas == agents else PARTLY}: {have}; {different}."
    persons, with_traits, activity, stances, personas = n
    verdict = YES if with_traits >= persons and stances > 1 else PARTLY if stances > 1 or activity > 1 else NO
    words = f", {count(personas, 'different persona')} in words" if personas else ""
    return f"{verdict}: {number(with_traits)} of {count(persons, 'person', 'persons')} have traits of their own{words}."


def _interaction(n: list[int], is_debate: bool) -> str:
    if is_debate:
        return f"{YES if n[1] else NO}: {count(n[1], 'change')} by messages of the other side."
    rows, by_persons, acted, written, causes, of_persons = n
    verdict = YES if by_persons and acted and (of_persons or not causes) else PARTLY if by_persons else NO
    moved = ""
    if causes:
        moved = f"; {_share(of_persons, causes)} of the contributions of exposures to beliefs are from such rows"
    shown = f"{_share(by_persons, rows)} of the rows shown were put into the feed by another person"
    return f"{verdict}: {shown}{moved}. Persons wrote {count(written, 'post or comment', 'posts and comments')}."


def _memory(n: list[int], is_debate: bool) -> str:
    if is_debate:
        return f"{YES if n[0] else NO}: speakers are given the dialogue so far and records retrieved from it."
    _, again, met, memories, accesses, records = n
    claims = f"; claims that were met are remembered ({count(met, 'judgment')})" if met else ""
    seen = f"seen posts are remembered ({count(again, 'repeated exposure')})"
    lasting = f"beliefs persist from step to step, and {seen}{claims}"
    if memories or records:
        in_words = f"{count(memories, 'memory', 'memories')} in words with {number(accesses)} accesses"
        which = [in_words] if memories else []
        which += [f"{count(records, 'change')} of argument records"] if records else []
        return f"{YES}: {lasting}; {', '.join(which)}."
    return f"{PARTLY}: {lasting}. Single events are not remembered in words: the policy reads no memory."


_VERDICTS: Mapping[str, Callable[[list[int], bool], str]] = {
    "profile": _profile, "interaction": _interaction, "memory": _memory,
}  # fmt: skip


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f}%" if whole else "none"


class _Prompt(NamedTuple):
    instructions: str
    contents: str


def _prompts(calls: Iterable[Call]) -> list[_Prompt]:
    """Return each recorded prompt, its instructions apart from what differs between prompts of its purpose."""
    by_purpose: dict[str, list[list[str]]] = {}
    for call in calls:
        request = json.loads(call.request)
        texts = "\n".join(str(message["content"]) for message in request["messages"])
        by_purpose.setdefault(call.purpose, []).append(texts.splitlines())
    return [prompt for each in by_purpose.values() for prompt in _parted(each)]


def _parted(prompts: list[list[str]]) -> Iterator[_Prompt]:
    often = Counter(line for lines in prompts for line in set(lines))
    least = INSTRUCTION_SHARE * len(prompts)
    for lines in prompts:
        fixed = [line for line in lines if often[line] > least]
        yield _Prompt("\n".join(fixed), "\n".join(line for line in lines if often[line] <= least))


def words_found(kind: str, prompts: Sequence[tuple[str, str]]) -> list[WordFound]:
    """Count the prompts that hold a word of a kind (``control``, ``unawareness``), most first.

    >>> words_found("unawareness", [("You take part in a study.", ""), ("", "my study")])[0][:4]
    ('study', 'study', 1, 1)
    """
    hits = []
    for category, words in _listed()["words"][kind].items():
        for word in words:
            pattern = re.compile(rf"\b{re.escape(str(word))}\b", re.IGNORECASE)
            of = [sum(1 for prompt in prompts if pattern.search(prompt[at])) for at in (0, 1)]
            if any(of):
                example = _example(pattern, [prompt[0 if of[0] else 1] for prompt in prompts])
                hits.append(WordFound(category, str(word), of[0], of[1], example))
    return sorted(hits, key=lambda hit: (-hit.instructions, -hit.contents, hit.word))


def _example(pattern: re.Pattern[str], texts: Iterable[str]) -> str:
    for text in texts:
        if hit := pattern.search(text):
            return " ".join(text[max(0, hit.start() - 40) : hit.end() + 40].split())
    return ""


def _words_blocks(key: str, prompts: Sequence[_Prompt]) -> list[Block]:
    if not prompts:
        return [f"{NOT_APPLICABLE}: no prompt was sent to a language model, so the folder has no `calls.db`."]
    hits = words_found(key, prompts)
    instructed = [hit for hit in hits if hit.instructions]
    searched = sum(len(words) for words in _listed()["words"][key].values())
    what = "nudge" if key == "control" else "name the study, its aim or the simulation"
    verdict = NO if len(instructed) > 0 and key == "unawareness" else PARTLY if instructed else YES
    in_all = f"instructions of {count(len(prompts), 'recorded prompt')} hold {number(len(instructed))}"
    anywhere = f"{number(len(hits))} occur anywhere in them"
    sentence = f"{verdict}: {in_all} of {number(searched)} words that may {what}; {anywhere}."
    rows = [(hit.category, quoted(hit.word), hit.instructions, hit.contents, quoted(hit.example)) for hit in hits]
    heads = ((str, "category", "word"), (number, "prompts, instruction", "prompts, other content"), (str, "such as"))
    parts = "Instructions: lines in more than half of the prompts of a purpose. Other content: persona, feed, memory."
    note = f"{parts} {_WHERE}."
    shown = [table("Words found in recorded prompts", rows, *heads, note=note)] if rows else [f"Query: `{_WHERE}`."]
    left = [Author("why each word found in instructions does not steer the outcome.")] if instructed else []
    return [sentence, *shown, *left]

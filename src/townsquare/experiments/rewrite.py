"""Personas in a language model's words, checked to keep every answer (MOSAIC, appendix A.2)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from townsquare.core.cells import MAX_CHARACTERS
from townsquare.core.files import clean
from townsquare.models.contract import Asker, Message, Reply, Request
from townsquare.models.prompts.filling import filled, quoted
from townsquare.scenario.population.personas import Personas, missing_attributes, render_persona
from townsquare.scenario.population.question_bank import QuestionBank

MOST_TOKENS = 700


@dataclass(frozen=True)
class Rewritten:
    """``texts`` (n,); ``accepted`` (n,) bool: whether each is the model's, else the bank's; why not, by row."""

    texts: tuple[str, ...]
    accepted: tuple[bool, ...]
    why: dict[int, str]


def rewrite(people: Personas, bank: QuestionBank, asker: Asker, temperature: float = 1.0) -> Rewritten:
    """Have every persona written again.

    A text that leaves out an answer goes back once with what is missing; if the second one does too, the persona stays
    as it was (rendered from the answers where it had no text).
    """
    n = len(people)
    texts = [people.texts[row] or render_persona(people.traits[row], bank) for row in range(n)]
    accepted = [False] * n
    why: dict[int, str] = {}
    how: dict[str, Any] = {"temperature": temperature, "max_tokens": MOST_TOKENS}
    asked = {row: Request.of("persona", _prompt(people, row, bank), agent=row, **how) for row in range(n)}
    for _ in range(2):
        for row, reply in zip(list(asked), asker.ask(list(asked.values())), strict=True):
            request = asked.pop(row)
            text = clean(str(reply.value)).strip() if reply.ok else ""
            if fault := _fault(text, reply, people, row, bank):
                why[row] = fault
                back = f"This leaves out or changes: {fault}. Write it again with every fact in it."
                exchange = Message("assistant", text or "(nothing)"), Message("user", back)
                asked[row] = replace(request, messages=(*request.messages, *exchange), turn=1)
            else:
                texts[row], accepted[row] = text, True
                why.pop(row, None)
    return Rewritten(tuple(texts), tuple(accepted), why)


def _fault(text: str, reply: Reply, people: Personas, row: int, bank: QuestionBank) -> str:
    if not reply.ok:
        return f"no answer ({reply.outcome.name.lower()})"
    if not text or len(text) > MAX_CHARACTERS:
        return f"{len(text):,} characters"
    return ", ".join(missing_attributes(text, people.traits[row], bank))


def _prompt(people: Personas, row: int, bank: QuestionBank) -> str:
    text = people.texts[row]
    return filled("persona", facts=quoted(bank.labeled(people.traits[row]) or ({"as told": text} if text else {})))

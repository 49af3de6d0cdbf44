"""What a reasoning model says to itself, set aside from what it says."""

from __future__ import annotations

import re

_TAGS = ("think", "thinking", "thought", "reasoning", "seed:think")
_BEGINS = re.compile(rf"\s*<({'|'.join(_TAGS)})>", re.IGNORECASE)
_ENDS = {tag: re.compile(rf"</{tag}>\s*", re.IGNORECASE) for tag in _TAGS}
_OPENS = {tag: re.compile(rf"<{tag}>", re.IGNORECASE) for tag in _TAGS}


def without_thinking(text: str) -> str:
    """The text after the thinking; "" if the thinking never ends.

    Only what leads the text is thinking: templates may open it in the prompt, so that only its end is seen. A tag later
    on, inside an answer, is part of the answer.

    >>> without_thinking("<think>They want a like.</think> {}"), without_thinking("They want ... </think>{}")
    ('{}', '{}')
    >>> without_thinking("<think>They want"), without_thinking('{"text": "use <think>x</think> tags"}')
    ('', '{"text": "use <think>x</think> tags"}')
    """
    at = 0
    while begins := _BEGINS.match(text, at):
        ends = _ENDS[begins[1].lower()].search(text, begins.end())
        if ends is None:
            return ""
        at = ends.end()
    return text[at:] if at else _after_unopened(text)


def _after_unopened(text: str) -> str:
    if "</" not in text or text.lstrip().startswith(("{", "[", "`")):
        return text
    for tag in _TAGS:
        ends = _ENDS[tag].search(text)
        if ends and not _OPENS[tag].search(text):
            return text[ends.end() :]
    return text

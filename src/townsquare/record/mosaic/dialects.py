"""What two databases write differently in the views of appendix D: days, lists of texts, JSON, rounding."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from townsquare.core.schema import EPOCH


@dataclass(frozen=True, slots=True)
class Dialect:
    """Parts of a SELECT in the words of one database.

    Attributes
    ----------
    day : callable
        From an expression of a step, the time that it stands for, as text: ``2025-01-02 00:00:00``.
    persona : str
        All of ``label: answer`` of a group, in the order of ``trait``, joined by ``"; "``.
    labels : str
        A JSON object of ``label`` and ``answer`` of a group; answers that are their own code are numbers.
    json_list : callable
        From an expression of a text, a JSON list of it alone.
    rounded : callable
        From an expression and a number of digits, the rounded real number.
    """

    day: Callable[[str], str]
    persona: str
    labels: str
    json_list: Callable[[str], str]
    rounded: Callable[[str, int], str]


SQLITE = Dialect(
    day=lambda step: f"datetime('{EPOCH}', {step} || ' days')",
    persona="group_concat(label || ': ' || answer, '; ')",
    labels="json_group_object(label, CASE WHEN answer = CAST(value AS TEXT) THEN value ELSE answer END)",
    json_list=lambda text: f"json_array({text})",
    rounded=lambda value, digits: f"round({value}, {digits})",
)

# JSON is put together by hand: `json_object_agg` puts spaces where SQLite has none.
POSTGRESQL = Dialect(
    day=lambda step: f"to_char(timestamp '{EPOCH}' + {step} * interval '1 day', 'YYYY-MM-DD HH24:MI:SS')",
    persona="string_agg(label || ': ' || answer, '; ' ORDER BY trait)",
    labels="'{' || string_agg(to_json(label) || ':' ||"
    " CASE WHEN answer = CAST(value AS TEXT) THEN answer ELSE CAST(to_json(answer) AS TEXT) END, ',' ORDER BY trait)"
    " || '}'",
    json_list=lambda text: f"'[' || to_json({text}) || ']'",
    rounded=lambda value, digits: f"CAST(round({value}, {digits}) AS DOUBLE PRECISION)",
)

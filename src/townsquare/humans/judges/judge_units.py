"""Features of texts and their passages, computed once for all methods of a report."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from townsquare.beliefs.evidence.ngrams import Rows
from townsquare.beliefs.evidence.passages import passages
from townsquare.beliefs.evidence.polarity_features import Blocks, bank_features, general_features, read_blocks
from townsquare.beliefs.evidence.proposition import read_proposition
from townsquare.beliefs.evidence.relevance import content
from townsquare.beliefs.evidence.strength_features import StrengthBlocks, read_strength
from townsquare.core.array_types import Int64
from townsquare.humans.judges.argument_table import ArgumentTable


class Units(NamedTuple):
    """Judged units: the n texts of a table, then the passages of those with several; u of them in all.

    Attributes
    ----------
    row : (u,) int64
        Row of the table; the first n are 0 to n - 1.
    passages : tuple of tuple of int
        For each row, the units that are its passages: itself where it is one.
    content : tuple of tuple of int
        For each unit, places of its stems.
    blocks : Blocks
        Of the units, each under its row's topic.
    general, own : sparse (u, d)
        Features of the general polarity model, and of a topic's own.
    strength : StrengthBlocks
        Of the units.
    """

    row: Int64
    passages: tuple[tuple[int, ...], ...]
    content: tuple[tuple[int, ...], ...]
    blocks: Blocks
    general: Rows
    own: Rows
    strength: StrengthBlocks


def read_units(table: ArgumentTable) -> Units:
    """Cut and read every text of a table."""
    texts, rows, parts = list(table.text), list(range(len(table.text))), []
    for row, (text, topic) in enumerate(zip(table.text, table.topic, strict=True)):
        spans = passages(text, read_proposition(topic))
        if len(spans) > 1:
            parts.append(tuple(range(len(texts), len(texts) + len(spans))))
            texts += [text[start:end] for start, end in spans]
            rows += [row] * len(spans)
        else:
            parts.append((row,))
    frames = [read_proposition(table.topic[row]) for row in rows]
    blocks = read_blocks(texts, frames)
    return Units(
        row=np.asarray(rows, np.int64),
        passages=tuple(parts),
        content=tuple(tuple(content(text)) for text in texts),
        blocks=blocks,
        general=general_features(blocks),
        own=bank_features(blocks),
        strength=read_strength(texts, frames),
    )

"""``persuasiontrace``: people who chat with a language model that argues for or against a proposition.

Source: Moore, Goodman, Haber and Kleiman-Weiner 2026, arXiv 2606.05330; GitHub jlcmoore/persuasiontrace, MIT. Belief
is read before, after each message of the persuader but the last, and at the end. In the control arm the chat is about
something else.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from townsquare.core.cells import name_cell
from townsquare.core.errors import DataError
from townsquare.core.tabular import Record
from townsquare.humans.adapters.folder import Folder, each, read_folder, row_of
from townsquare.humans.trajectories import Row

PEOPLE = ("traj_id", "participant_id", "conv_id", "condition", "proposition", "initial_stance", "final_stance")
TRACE = ("traj_id", "after_message_i", "stance")
MESSAGES = ("conv_id", "i", "author", "received", "side", "text")
MARK = "persuader_side"
"""A column that other folders of this form do not have."""


def read(folder: Path) -> Iterator[Row | DataError]:
    """One row a conversation.

    Raises
    ------
    DataError
        A file or column that is missing.
    """
    data = read_folder(folder, PEOPLE, TRACE, MESSAGES)
    return each(data.people.records, lambda record: _row(data, record))


def _row(data: Folder, record: Record) -> Row:
    return row_of(
        data, record, data.received_in(record), after=True, control=name_cell(record, "condition") == "control"
    )

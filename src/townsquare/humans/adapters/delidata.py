"""``delidata``: people who solve a card task alone, discuss it in a group chat, and answer again.

Source: Karadzhov, Stafford and Vlachos 2023, "DeliData", PACM HCI 7 (CSCW2); Apache 2.0. The proposition is that a card
must be turned; +1 is to pick it. Messages have no side: what they say of a card is read from their text
(:mod:`townsquare.humans.option_sides`).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from townsquare.core.cells import name_cell
from townsquare.core.errors import DataError
from townsquare.core.tabular import Record
from townsquare.humans.adapters.folder import Folder, each, place_in, read_folder, row_of
from townsquare.humans.trajectories import Row

PEOPLE = (
    "traj_id", "participant_id", "conv_id", "card", "proposition", "initial_stance", "final_stance",
    "final_before_message_i",
)  # fmt: skip
TRACE = ("traj_id", "before_message_i", "stance")
MESSAGES = ("conv_id", "i", "author", "text")
MARK = "card"
"""A column that other folders of this form do not have."""


def read(folder: Path) -> Iterator[Row | DataError]:
    """One row a person and card; received is what others wrote before the person's last answer.

    Raises
    ------
    DataError
        A file or column that is missing.
    """
    data = read_folder(folder, PEOPLE, TRACE, MESSAGES)
    return each(data.people.records, lambda record: _row(data, record))


def _row(data: Folder, record: Record) -> Row:
    participant, end = name_cell(record, "participant_id"), place_in(record, "final_before_message_i")
    said = [
        message
        for message in data.said_in(record)
        if name_cell(message, "author") != participant and place_in(message) < end
    ]
    return row_of(data, record, said, sided=False, option=name_cell(record, "card"))

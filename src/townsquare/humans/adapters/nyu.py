"""``nyu``: judges who follow a debate about a story that they have not read.

Source: Michael and others 2023, arXiv 2311.08702; GitHub julianmichael/debate, CC BY 4.0. The judge gives a probability
before and after each round; speeches have a side. Comments of judges are no messages here: live judges wrote them
themselves, others did not see them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from townsquare.core.cells import name_cell
from townsquare.core.errors import DataError
from townsquare.core.tabular import Record
from townsquare.humans.adapters.folder import Folder, each, read_folder, row_of
from townsquare.humans.trajectories import Row

PEOPLE = ("traj_id", "participant_id", "conv_id", "story", "proposition", "initial_stance", "final_stance")
TRACE = ("traj_id", "before_message_i", "stance")
MESSAGES = ("conv_id", "i", "author", "received", "side", "text")
MARK = "judge_kind"
"""A column that other folders of this form do not have."""


def read(folder: Path) -> Iterator[Row | DataError]:
    """One row a judge and debate; topics are stories.

    Raises
    ------
    DataError
        A file or column that is missing.
    """
    data = read_folder(folder, PEOPLE, TRACE, MESSAGES)
    return each(data.people.records, lambda record: _row(data, record))


def _row(data: Folder, record: Record) -> Row:
    return row_of(data, record, data.received_in(record), topic=name_cell(record, "story"))

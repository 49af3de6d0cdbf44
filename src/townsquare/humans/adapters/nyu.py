"""``nyu``: judges who follow a debate about a story that they have not read.

Source: Michael and others 2023, arXiv 2311.08702; GitHub julianmichael/debate, CC BY 4.0. The judge gives a probability
before and after each round; speeches have a side. Comments of judges are no messages here: live judges wrote them
themselves, others did not see them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from townsquare.errors import DataError
from townsquare.files import Record
from townsquare.humans.adapters.folder import (
    Folder,
    each,
    is_true,
    message_of,
    place_in,
    read_folder,
    readings_at,
    side_of,
)
from townsquare.humans.scales import stance_cell
from townsquare.humans.trajectories import Row
from townsquare.scenario_columns import name_cell, text_cell

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
    said = [message for message in data.said_in(record) if is_true(message, "received")]
    places = [place_in(message) for message in said]
    return Row(
        place=record.place,
        participant=name_cell(record, "participant_id"),
        conversation=name_cell(record, "conv_id"),
        proposition=text_cell(record, "proposition"),
        initial=stance_cell(record, "initial_stance"),
        final=stance_cell(record, "final_stance"),
        messages=[message_of(message, side_of(message)) for message in said],
        readings=readings_at(
            data.readings_of(record), "before_message_i", lambda at: sum(place < at for place in places)
        ),
        topic=name_cell(record, "story"),
    )

"""Mapping files: the meaning of the columns of human data, in YAML.

::

    name: my-study
    people:                        # one row per participant, conversation and proposition
      file: people.csv             # CSV, TSV, JSON lines or Parquet, in the folder of the data
      participant: worker_id
      conversation: group_id
      proposition: topic           # a column, or `statement:` for one proposition in all rows
      initial: opinion_pre
      final: opinion_post
      scale: [1, 6]                # wholly against, wholly for; or `values: {agree: 1, disagree: -1}`
      control: arm                 # only where some conversations are about something else
      controls: [placebo]          # words in `control` that say so; true, 1 and yes if not given
      until: answered_at           # only messages with an order below this were received
    messages:                      # one row per message
      file: messages.csv
      conversation: group_id
      author: worker_id
      text: body
      to: recipient                # only where messages go to some: others do not receive them
      everyone: [all]              # words in `to` that mean the whole group, as an empty cell does
      received: shown              # only where the data say which messages were received: true, 1 or yes
      order: timestamp             # a number; without it, the order of the file
    readings:                      # where people were asked in between
      file: readings.csv
      participant: worker_id       # both, or `trajectory:` here and under `people`
      conversation: group_id
      order: timestamp             # on the scale of the messages' order; or `before:`, the order of the next message
      stance: opinion
"""

from __future__ import annotations

from importlib.resources import files as package_files
from pathlib import Path

from pydantic import Field

from townsquare.core.cells import Scale
from townsquare.core.errors import DataError
from townsquare.core.files import is_file
from townsquare.settings.config import MemberParams
from townsquare.settings.layers import read_yaml
from townsquare.settings.problems import validated


class Columns(MemberParams):
    """Columns that any file may have, and how its answers become stances."""

    file: str
    proposition: str | None = None
    scale: tuple[float, float] = Field((-1.0, 1.0), description="the answer wholly against, and the one wholly for")
    values: dict[str, float] = Field(default_factory=dict, description="answers in words and their stances")

    def as_scale(self) -> Scale:
        """Return the scale of these answers."""
        return Scale(self.scale[0], self.scale[1], self.values)


class PeopleColumns(Columns):
    """Columns of the file of people."""

    participant: str
    conversation: str
    initial: str
    final: str
    statement: str | None = None
    topic: str | None = None
    option: str | None = None
    control: str | None = None
    group: str | None = None
    controls: tuple[str, ...] = ("true", "1", "yes")
    trajectory: str | None = None
    until: str | None = None


class MessageColumns(Columns):
    """Columns of the file of messages; the scale is that of ``side``."""

    conversation: str
    author: str
    text: str | None = None
    side: str | None = None
    strength: str | None = None
    tie: str | None = None
    author_group: str | None = None
    to: str | None = None
    everyone: tuple[str, ...] = ("", "all", "everyone", "group")
    received: str | None = None
    order: str | None = None


class ReadingColumns(Columns):
    """Columns of the file of readings in between."""

    stance: str
    participant: str | None = None
    conversation: str | None = None
    trajectory: str | None = None
    order: str | None = None
    before: str | None = None


class HumanMapping(MemberParams):
    """A mapping file."""

    name: str = Field(min_length=1, max_length=80)
    verified: bool = Field(True, description="whether it was tried on the data it is for")
    people: PeopleColumns
    messages: MessageColumns
    readings: ReadingColumns | None = None


def bundled_mapping(name: str) -> Path:
    """Return the file of a mapping that comes with Townsquare; a path that may not be there."""
    return Path(str(package_files("townsquare"))) / "data" / "humans" / f"{name}.yaml"


def read_mapping(given: str) -> HumanMapping:
    """Return a bundled mapping by its name, or a file.

    Raises
    ------
    DataError
        No such file, no YAML, an unknown or missing key, a scale of one point, no proposition.
    """
    path = bundled_mapping(given) if "/" not in given and is_file(bundled_mapping(given)) else Path(given)
    mapping = validated(HumanMapping, read_yaml(path)[0], path)
    people, messages, readings = mapping.people, mapping.messages, mapping.readings
    scales = {"people": people.scale, "messages": messages.scale}
    rules = [
        ((people.proposition is None) != (people.statement is None), "people", "both or neither",
         "one of `proposition` and `statement`"),
        (messages.order is not None or (readings is None and people.until is None), "messages, order", "nothing",
         "a column, as readings and ends are placed by it"),
    ]  # fmt: skip
    if readings is not None:
        scales["readings"] = readings.scale
        by_name = readings.participant is not None and readings.conversation is not None
        by_trajectory = readings.trajectory is not None and people.trajectory is not None
        rules += [
            (by_name or by_trajectory, "readings", "nothing that says whose they are",
             "`participant` and `conversation`; or `trajectory`, here and under `people`"),
            ((readings.order is None) != (readings.before is None), "readings", "both or neither",
             "one of `order` and `before`"),
        ]  # fmt: skip
    rules += [(a != b, f"{part}, scale", str([a, b]), "two different numbers") for part, (a, b) in scales.items()]
    for holds, part, got, allowed in rules:
        if not holds:
            raise DataError(f"{path}, {part}", got=got, allowed=allowed)
    return mapping

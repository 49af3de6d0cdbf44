"""What the columns of other data mean: a mapping file for human trajectories, in YAML.

::

    name: my-study
    people:                        # one row a participant, conversation and proposition
      file: people.csv             # CSV, TSV or JSON lines, in the folder of the data
      participant: worker_id
      conversation: group_id
      proposition: topic           # a column, or `statement:` for one proposition in all rows
      initial: opinion_pre
      final: opinion_post
      scale: [1, 6]                # wholly against, wholly for; or `values: {agree: 1, disagree: -1}`
    messages:                      # one row a message
      file: messages.csv
      conversation: group_id
      author: worker_id
      text: body
      to: recipient                # only where messages go to some: others do not receive them
      everyone: [all]              # words in `to` that mean the whole group
      order: timestamp             # a number; without it, the order of the file
    readings:                      # where people were asked in between
      file: readings.csv
      participant: worker_id
      conversation: group_id
      order: timestamp             # on the scale of the messages' order
      stance: opinion
"""

from __future__ import annotations

from importlib.resources import files as package_files
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from townsquare.core.errors import DataError
from townsquare.core.files import is_file
from townsquare.core.registry import did_you_mean
from townsquare.humans.scales import Scale
from townsquare.settings.config import MemberParams
from townsquare.settings.layers import read_yaml


class Answers(MemberParams):
    """How answers become stances."""

    scale: tuple[float, float] = Field((-1.0, 1.0), description="the answer wholly against, and the one wholly for")
    values: dict[str, float] = Field(default_factory=dict, description="answers in words and their stances")

    def as_scale(self) -> Scale:
        """The scale of these answers."""
        return Scale(self.scale[0], self.scale[1], self.values)


class PeopleColumns(Answers):
    """Columns of the file of people."""

    file: str
    participant: str
    conversation: str
    initial: str
    final: str
    proposition: str | None = None
    statement: str | None = None
    topic: str | None = None
    option: str | None = None
    control: str | None = None


class MessageColumns(Answers):
    """Columns of the file of messages; the scale is that of ``side``."""

    file: str
    conversation: str
    author: str
    text: str | None = None
    side: str | None = None
    strength: str | None = None
    proposition: str | None = None
    to: str | None = None
    everyone: tuple[str, ...] = ("", "all", "everyone", "group")
    order: str | None = None


class ReadingColumns(Answers):
    """Columns of the file of readings in between."""

    file: str
    participant: str
    conversation: str
    order: str
    stance: str
    proposition: str | None = None


class HumanMapping(MemberParams):
    """A mapping file."""

    name: str = Field(min_length=1, max_length=80)
    verified: bool = Field(True, description="whether it was tried on the data it is for")
    people: PeopleColumns
    messages: MessageColumns
    readings: ReadingColumns | None = None


def bundled_mapping(name: str) -> Path:
    """The file of a mapping that comes with Townsquare; a path that may not be there."""
    return Path(str(package_files("townsquare"))) / "data" / "humans" / f"{name}.yaml"


def read_mapping(given: str) -> HumanMapping:
    """A bundled mapping by its name, or a file.

    Raises
    ------
    DataError
        No such file, no YAML, an unknown or missing key, a scale of one point, no proposition.
    """
    path = bundled_mapping(given) if "/" not in given and is_file(bundled_mapping(given)) else Path(given)
    document, _ = read_yaml(path)
    try:
        mapping = HumanMapping.model_validate(document)
    except ValidationError as error:
        raise _explained(path, error.errors()[0]) from None
    people = mapping.people
    if (people.proposition is None) == (people.statement is None):
        raise DataError(f"{path}, people", got="both or neither", allowed="one of `proposition` and `statement`")
    for part in ("people", "messages", "readings"):
        answers = getattr(mapping, part)
        if answers is not None and answers.scale[0] == answers.scale[1]:
            raise DataError(f"{path}, {part}, scale", got=str(list(answers.scale)), allowed="two different numbers")
    if mapping.readings is not None and mapping.messages.order is None:
        raise DataError(f"{path}, messages, order", got="nothing", allowed="a column, as readings are placed by it")
    return mapping


def _explained(path: Path, problem: Any) -> DataError:
    at = ", ".join(str(part) for part in problem["loc"]) or "the whole"
    key = str((problem["loc"] or ("",))[-1])
    if problem["type"] == "extra_forbidden":
        parts: dict[str, type[MemberParams]] = {
            "people": PeopleColumns, "messages": MessageColumns, "readings": ReadingColumns,
        }  # fmt: skip
        known = tuple(parts.get(str(problem["loc"][0]), HumanMapping).model_fields)
        return DataError(f"{path}, {at}", got=repr(key), allowed=", ".join(known), do=did_you_mean(key, known))
    if problem["type"] == "missing":
        return DataError(f"{path}, {at}", got="nothing", allowed="the name of a column or file")
    allowed = problem["msg"].removeprefix("Input should be ")
    return DataError(f"{path}, {at}", got=repr(problem["input"])[:80], allowed=allowed)

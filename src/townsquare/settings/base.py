"""What every settings model is made of; apart, so that :mod:`townsquare.config` can take models of other files."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Share = Annotated[float, Field(ge=0.0, le=1.0)]
ActionName = Literal[
    "post", "like", "dislike", "share", "comment", "like_comment", "flag", "follow", "unfollow", "add_note",
    "rate_note", "ignore",
]  # fmt: skip
"""The words of :class:`townsquare.schema.ActionKind`."""
Friction = dict[ActionName, Share]
"""Kind of action -> chance that one which would be accepted is given up at the second draw."""


class MemberParams(BaseModel):
    """Base of every member's ``Params``: frozen, unknown keys refused, numbers finite."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, populate_by_name=True)


class Section(MemberParams):
    """Base of the sections of a configuration."""

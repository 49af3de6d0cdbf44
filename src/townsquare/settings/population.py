"""Settings of the people: traits, initial stances, activity."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from townsquare.settings.base import Section, Share, setting

Factor = Annotated[float, Field(ge=0.0, le=100.0)]


class StanceStart(Section):
    """Initial stances for one proposition."""

    kind: Literal["normal", "uniform", "camps", "constant"] = setting("normal", "distribution of initial stances")
    mean: float = setting(
        0.0, "mean of the distribution, midpoint of the two camps, or the constant; unused by `uniform`", ge=-1, le=1
    )
    sd: float = setting(0.45, "standard deviation (of each camp for `camps`); stances are clipped to [-1, 1]", ge=0)
    distance: Share = setting(0.5, "camps only: distance of each camp from the midpoint")
    pro_share: Share = setting(0.5, "camps only: share of agents in the camp around mean + distance")
    by_trait: dict[str, dict[str, float]] = setting(dict, "trait label -> answer -> number added before clipping")


class Population(Section):
    """The people: traits, initial stances and activity."""

    file: str | None = setting(None, "JSONL of personas, instead of sampling the question bank", file="scenario")
    mapping: str | None = setting(
        None, "YAML that maps the columns of a survey; `file` is then the table of answers", file="scenario"
    )
    resample: bool = setting(False, "draw agents from `file` with replacement, by weight; with `margins`, always")
    bank: Literal["mosaic", "parliamentary"] = setting("mosaic", "bundled question bank: questions, answers, shares")
    bank_file: str | None = setting(None, "YAML of a question bank of your own, in place of `bank`", file="scenario")
    missing: Literal["keep", "impute"] = setting(
        "keep", "with `resample` or `margins`: `keep` leaves answers missing and draws stances from `stance`; `impute` "
        "draws both from respondents who answered, by weight",
    )  # fmt: skip
    margins: dict[str, dict[str, float]] = setting(dict, "target shares: trait label -> answer -> share of people")
    stance: dict[str, StanceStart] = setting(dict, "initial stances by proposition name; `default` for the others")
    confidence_mean: Share = setting(0.5, "mean initial confidence")
    confidence_sd: float = setting(0.0, "standard deviation of initial confidence, which is clipped to [0, 1]", ge=0)
    activity_shape: float = setting(
        0.69, "shape of the gamma distribution of activity, without lurkers; smaller: heavier tail", gt=0
    )
    silent_share: float = setting(
        0.22, "share of lurkers (activity 0), who never act; without `time.step_minutes`, policies `llm`, "
        "`coordinated` and `scripted` act for them too", ge=0, lt=1,
    )  # fmt: skip
    activity_sd: float | None = setting(
        None, "if set: activity is lognormal with this sd of its log; no gamma distribution, no lurkers", ge=0
    )
    taste: bool = setting(False, "each person has a standard normal taste for low-credibility sources (assumed)")
    taste_activity: float = setting(
        0.35, "correlation of taste and log activity, with `taste` and `activity_sd` (assumed)", ge=-1, le=1
    )
    activity_by_trait: dict[str, dict[str, Factor]] = setting(
        dict, "trait label -> answer -> factor of drawn activity; only ratios of factors matter"
    )
    taste_by_trait: dict[str, dict[str, float]] = setting(
        dict, "with `taste`: trait label -> answer -> number added to taste"
    )

    @property
    def sessions(self) -> float:
        """The expected sessions of a person, relative to those of activity 1: lurkers come on top of a mean of 1."""
        return 1.0 + (self.silent_share if self.activity_sd is None else 0.0)

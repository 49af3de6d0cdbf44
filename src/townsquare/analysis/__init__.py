"""Finished runs to numbers: functions of a recorded run that return tidy frames. docs/measures.md defines each."""

from townsquare.analysis.beliefs import belief_change, belief_course, stance_bins, stance_lines, true_sides
from townsquare.analysis.contract import Measure, Reads
from townsquare.analysis.engagement import engagement, engagement_balance, engagement_by_post
from townsquare.analysis.health import belief_movement, participation, refusals
from townsquare.analysis.moderation import labels, moderation, moderation_events
from townsquare.analysis.outcomes import describe, outcomes
from townsquare.analysis.reach import exposure_counts, reach, reach_over_time

__all__ = [
    "Measure", "Reads", "belief_change", "belief_course", "belief_movement", "describe", "engagement",
    "engagement_balance", "engagement_by_post", "exposure_counts", "labels", "moderation", "moderation_events",
    "outcomes", "participation", "reach", "reach_over_time", "refusals", "stance_bins", "stance_lines", "true_sides",
]  # fmt: skip

"""All measures of facts by name."""

from __future__ import annotations

from townsquare.analysis.facts import notes, people, sitting, spread
from townsquare.analysis.facts.contract import by_name
from townsquare.analysis.facts.rules import OF_A_RULE

OF_A_RUN = by_name(
    spread.unshared_posts, spread.conversation_size_gini, spread.structural_virality, spread.conversation_depth,
    spread.conversation_half_life, spread.impression_half_life, spread.false_size_ratio,
    spread.false_structure_at_equal_size, people.supersharers, people.exposure_concentration,
    people.false_share_of_diet, people.activity_concentration, people.cross_cutting_friends, people.reciprocity,
    people.stay_put, people.change_not_reversion, people.spread_stays, people.retest,
)  # fmt: skip
"""Measures that one run shows."""
OF_NOTES = by_name(notes.notes_are_right, notes.few_notes_are_shown)
"""Measures that one run with community notes shows."""
BESIDE_NO_NOTES = by_name(notes.note_effect_after, notes.note_effect_life)
"""Measures of a run with community notes and its paired run without moderation."""
BESIDE_ANOTHER_FEED = by_name(notes.feed_changes_move_attitudes_little)
"""Measures of a run and its paired run with another feed."""
OF_A_SITTING = by_name(
    sitting.share_ratio_false_true, sitting.share_concordance, sitting.false_share_top10_survey,
    sitting.sharing_is_a_trait, sitting.silent_in_a_sitting,
)  # fmt: skip
"""Measures of random posts of a scenario put to random people, in several sittings of the same people."""
NAMES = (*OF_A_RUN, *OF_NOTES, *BESIDE_NO_NOTES, *BESIDE_ANOTHER_FEED, *OF_A_SITTING, *OF_A_RULE)

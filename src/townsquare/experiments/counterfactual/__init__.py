"""What people would have believed without a post, an author, an argument record, all false posts, or labels.

Two questions, kept apart. *By the rule*: what people saw is held fixed, and the belief rule is executed again on the
recorded exposures without the rows in question (:mod:`townsquare.experiments.counterfactual.rerun_rule`); exact for the
rule. *By another run*: the same configuration without them, so that feeds, actions and all that follows may change too
(:mod:`townsquare.experiments.counterfactual.rerun_simulation`).
"""

from townsquare.experiments.counterfactual.removal import Removal
from townsquare.experiments.counterfactual.rerun_rule import CounterfactualBeliefs, rerun_beliefs, without

__all__ = ["CounterfactualBeliefs", "Removal", "rerun_beliefs", "without"]

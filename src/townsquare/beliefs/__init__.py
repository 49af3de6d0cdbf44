"""How beliefs move: one file a rule, each a pure pair of ``init`` and ``step``."""

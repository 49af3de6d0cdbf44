"""Belief rules: one file per rule, each a pair of pure functions ``init`` and ``step``."""

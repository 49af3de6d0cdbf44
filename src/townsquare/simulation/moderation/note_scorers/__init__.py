"""How notes are scored: one file a scorer."""

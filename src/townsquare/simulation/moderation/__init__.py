"""How a platform moderates: one file a strategy."""

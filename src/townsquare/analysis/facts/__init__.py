"""Published facts about people and platforms, and what a recorded run shows of each."""

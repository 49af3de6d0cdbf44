"""Why a belief moved: the trail of an agent, and what posts, authors and records contributed."""

"""People who were measured: their trajectories, rules fitted to them, and how far the rules reach."""

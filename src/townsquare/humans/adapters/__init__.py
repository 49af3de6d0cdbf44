"""Readers of human trajectories, one file per format; each gives :class:`townsquare.humans.trajectories.Row`."""

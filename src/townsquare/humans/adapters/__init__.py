"""Readers of human trajectories, one file a form of data; each gives :class:`townsquare.humans.trajectories.Row`."""

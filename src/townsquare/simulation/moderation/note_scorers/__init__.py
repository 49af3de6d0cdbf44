"""Scorers of community notes: one file for each."""

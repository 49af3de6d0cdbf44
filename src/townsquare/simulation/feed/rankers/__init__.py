"""Rankers, which put posts in order: one file for each."""

"""Moderation strategies: one file for each."""

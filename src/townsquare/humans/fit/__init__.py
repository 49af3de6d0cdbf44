"""Fit belief rules to people and test them on held-out people."""

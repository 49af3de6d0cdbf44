"""Experiments with people, held against the shipped rules."""

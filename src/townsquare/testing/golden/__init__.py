"""Recorded numbers of published functions, compared with what this installation computes."""

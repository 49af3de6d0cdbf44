"""Runs on a Ray cluster, and results in object stores."""

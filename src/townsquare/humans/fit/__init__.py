"""Belief rules fitted to people and tested on people left out."""

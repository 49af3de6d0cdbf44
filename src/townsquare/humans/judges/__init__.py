"""Judges of arguments compared with labels by people."""

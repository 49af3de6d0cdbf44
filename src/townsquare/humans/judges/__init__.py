"""Judges of arguments held against what people labeled."""

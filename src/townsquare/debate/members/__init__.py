"""Speakers, debaters and judges of debates: one file a member."""

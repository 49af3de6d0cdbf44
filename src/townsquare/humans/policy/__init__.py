"""Fit the embedded policy to people and compare it with them."""

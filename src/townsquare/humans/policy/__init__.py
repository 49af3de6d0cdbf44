"""Fit the statistical policy to people and compare it with them."""

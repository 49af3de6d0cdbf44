"""Checks that anyone can run on a member of their own, and on the formulae that Townsquare takes from others."""

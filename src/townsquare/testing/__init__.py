"""Conformance checks for members, and checks against published formulas."""

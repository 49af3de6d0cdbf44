"""A study frozen in one file: configurations, hypotheses, measures, versions and hashes; and checking it.

Made before the runs, it is a preregistration: it holds what will be run and what is expected, and any run made later
can be held against it. Made of recorded runs, it holds their content hashes, which anybody can compute again.
"""

from townsquare.experiments.bundle.check import Finding, check
from townsquare.experiments.bundle.freeze import FORMAT, Bundle, freeze, planned, recorded

__all__ = ["FORMAT", "Bundle", "Finding", "check", "freeze", "planned", "recorded"]

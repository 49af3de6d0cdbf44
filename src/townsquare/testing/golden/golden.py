"""Compare SimSwarm's recorded inputs and outputs with Townsquare: ``townsquare check golden FILE``."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from townsquare.beliefs.stance.vader import score_text
from townsquare.models.prompts.bands import confidence_band, stance_band
from townsquare.testing.golden.golden_formats import BandsCase, StanceCase, kind_of, read
from townsquare.testing.golden.golden_report import TOLERANCE, GoldenReport
from townsquare.testing.golden.golden_rule import check_apply, check_update

__all__ = ["TOLERANCE", "GoldenReport", "check"]


def check(path: str | Path) -> GoldenReport:
    """Compare one golden file with what Townsquare computes.

    The first line tells the kind. Stance, confidence and trust may differ by 1e-12; scores of texts and numbers of
    bands by nothing. ``update`` and ``apply`` run through the shipped ``exposure`` rule.

    Parameters
    ----------
    path : str or Path
        JSON lines in one of the formats of :mod:`townsquare.testing.golden.golden_formats`.

    Returns
    -------
    GoldenReport
        With every difference found; a difference is no error.

    Raises
    ------
    DataError
        If the file cannot be read, or a line is not of its format: names the file and the line.
    """
    path = Path(path)
    checks = {"update": check_update, "apply": check_apply, "stance": _check_stance, "bands": _check_bands}
    return checks[kind_of(path)](path)


def _check_stance(path: Path) -> GoldenReport:
    cases = read(path, StanceCase)
    report = GoldenReport("stance", path, len(cases), len(cases))
    for number, case in cases:
        report.compare("tone", f"{path}, line {number}", score_text(case.text), case.stance, tolerance=0.0)
    return report


def _check_bands(path: Path) -> GoldenReport:
    cases = read(path, BandsCase)
    report = GoldenReport("bands", path, len(cases), len(cases))
    stance = stance_band([case.pos for _, case in cases])
    confidence = confidence_band([np.nan if case.conf is None else case.conf for _, case in cases])
    for (number, case), got, sure in zip(cases, stance, confidence, strict=True):
        report.compare("stance band", f"{path}, line {number}", int(got), case.pos_band, tolerance=0.0)
        report.compare("confidence band", f"{path}, line {number}", int(sure), case.conf_band, tolerance=0.0)
    return report

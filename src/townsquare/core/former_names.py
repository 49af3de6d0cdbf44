"""Names that were changed and still work: scenarios and measures under the spelling of earlier versions."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

FORMER_NAMES: Mapping[str, Mapping[str, str]] = {
    "scenario": {"health-rumour": "health-rumor@1", "made": "synthetic"},
    "measure": {"exposures_false_labelled": "exposures_false_labeled", "true_labelled": "true_labeled"},
}
"""Kind -> former name -> current name."""


class FormerName(FutureWarning):
    """A former name was used; the message gives the current one."""


def current_name(kind: str, name: str) -> str:
    """Return the current name of a scenario or measure, with a warning if the name given is a former one.

    >>> current_name("measure", "reach_true_mean")
    'reach_true_mean'
    """
    current = FORMER_NAMES[kind].get(name, name)
    if current != name:
        message = f"{kind} {name!r} is now called {current!r}; the old name still works, but use the new one"
        warnings.warn(message, FormerName, stacklevel=3)
    return current

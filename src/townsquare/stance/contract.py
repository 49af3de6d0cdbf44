"""What a text scorer takes and gives (DESIGN §2 "No stance, no pull")."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from townsquare.config import MemberParams

Score = Callable[[Sequence[str], Sequence[str]], npt.NDArray[np.float64]]


@dataclass(frozen=True, slots=True)
class StanceScorer:
    """A member of the family ``stance``.

    Attributes
    ----------
    name : str
        As in the registry.
    params : type of MemberParams
        Its settings, in its own file.
    score : callable
        ``score(texts, propositions)``: for n texts and P statements an (n, P) float64 array in [-1, 1], +1 for the
        statement; NaN where a text takes no stance, which makes it no exposure. Each number depends on its text and
        its statement alone.
    measures : {"stance", "tone"}
        What the number really is. Tone is how positive the words are, whatever they are about; reports say so.
    """

    name: str
    params: type[MemberParams]
    score: Score
    measures: Literal["stance", "tone"] = "stance"

"""Where each agent is in the picture of the follow graph: computed once, kept in a file next to the run.

Forces as in ForceAtlas2 (Jacomy et al. 2014, PLoS ONE 9(6) e98679): agents that follow each other are pulled together,
all push each other away. The push is taken from a grid by a
convolution instead of from every pair, as FIt-SNE does (Linderman et al. 2019, Nature Methods 16, 243), so that a pass
costs the follows and the grid, not the square of the agents. The file is a cache: it is no part of the record, may be
deleted at any time, and is made again when agents have joined.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import fft
from scipy.sparse import csr_array

from townsquare.core.array_types import Float, Int64

FORMAT = 2
_PASSES = 160
_GRID = 96
_SEED = 8

Spectrum = npt.NDArray[np.complex128]


def positions(follower: Int64, followed: Int64, n: int) -> Float:
    """Return places of ``n`` nodes, (n, 2) float64 within [-1, 1]; the same for the same graph.

    Parameters
    ----------
    follower, followed : (m,) int64
        Ends of each follow, 0 to n - 1.
    """
    places = np.random.default_rng(_SEED).normal(size=(n, 2)) * 0.3
    if n < 2:
        return np.zeros((n, 2))
    ones = np.ones(follower.size)
    one_way = csr_array((ones, (follower, followed)), shape=(n, n))
    links = (one_way + one_way.T).tocsr()
    degree: npt.NDArray[np.float64] = np.asarray(links.sum(axis=1)).ravel()
    kernels = _kernels(_GRID)
    for number in range(_PASSES):
        heat = 0.08 * (1.0 - number / _PASSES) ** 1.5 + 1e-4
        push = _push(places, kernels) / n
        # By degree: one with many followers stands amid them instead of being torn out to the rim.
        pull = (links @ places - degree[:, None] * places) / (degree[:, None] + 1.0)
        move = push + 0.9 * pull - 0.05 * places
        length = np.linalg.norm(move, axis=1, keepdims=True)
        places = places + move / np.maximum(length, 1e-12) * np.minimum(length, heat)
    return _within(places)


def _kernels(size: int) -> tuple[Spectrum, Spectrum]:
    """Return the repulsion of a unit of mass, d / (d² + 1) in cells, as spectra of a grid of twice the size.

    Twice, so that the convolution of a grid does not come back at its other side.
    """
    line = np.fft.fftfreq(2 * size, 1.0 / (2 * size))
    x, y = np.meshgrid(line, line, indexing="ij")
    far = x**2 + y**2 + 1.0
    return fft.rfft2(x / far), fft.rfft2(y / far)


def _push(places: Float, kernels: tuple[Spectrum, Spectrum]) -> Float:
    low, high = places.min(axis=0), places.max(axis=0)
    cell = max(float((high - low).max()) / (_GRID - 3), 1e-9)
    at = (places - low) / cell + 1.0
    corner = at.astype(np.int64)
    part = at - corner
    size = 2 * _GRID
    cells = [((corner[:, 0] + dx) * size + corner[:, 1] + dy, share) for dx, dy, share in _corners(part)]
    density = np.zeros(size * size)
    for where, share in cells:
        density += np.bincount(where, share, minlength=size * size)
    spectrum = fft.rfft2(density.reshape(size, size))
    out = np.empty_like(places)
    for axis, kernel in enumerate(kernels):
        field = fft.irfft2(spectrum * kernel, s=(size, size)).ravel() / cell
        out[:, axis] = sum(share * field[where] for where, share in cells)
    return out


def _corners(part: Float) -> list[tuple[int, int, Float]]:
    x, y = part[:, 0], part[:, 1]
    return [(0, 0, (1 - x) * (1 - y)), (1, 0, x * (1 - y)), (0, 1, (1 - x) * y), (1, 1, x * y)]


def _within(places: Float) -> Float:
    """Center positions, and scale all but the outermost hundredth into [-1, 1]."""
    centered = places - np.median(places, axis=0)
    reach = float(np.quantile(np.abs(centered), 0.995)) or 1.0
    return np.clip(centered / reach, -1.1, 1.1)

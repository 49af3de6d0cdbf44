"""The shape of share trees: depth, breadth and structural virality, for all cascades in a few passes over arrays."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Whole = npt.NDArray[np.int64]


def depths(parent: npt.ArrayLike) -> Whole:
    """Links from each node up to its root.

    Parameters
    ----------
    parent : (n,) array of int
        Row of the parent; below 0 for a root. Parents may stand after their children, but not in a circle.

    Examples
    --------
    >>> depths([-1, 0, 1, 0, -1]).tolist()
    [0, 1, 2, 1, 0]
    """
    above = np.asarray(parent, np.int64)
    depth, at = np.zeros(above.size, np.int64), above.copy()
    while (at >= 0).any():  # one pass a link of the longest chain
        depth += at >= 0
        at = np.where(at >= 0, above[at], -1)
    return depth


def tree_shapes(parent: npt.ArrayLike) -> dict[str, npt.NDArray[np.float64]]:
    """Measures of each tree of a forest.

    Parameters
    ----------
    parent : (n,) array of int
        As in :func:`depths`.

    Returns
    -------
    dict of str to (roots,) arrays
        In the order of the roots: ``root`` (its row), ``size`` (nodes, the root included), ``depth`` (links of the
        longest chain), ``breadth`` (most nodes at one depth) and ``virality``: structural virality, the mean number
        of links between two different nodes (Goel and others 2016, *Management Science* 62); NaN for one node. It is
        twice the Wiener index over n (n − 1), and the Wiener index of a tree is the sum of s (n − s) over its links,
        s being the nodes below a link.

    Examples
    --------
    >>> tree_shapes([-1, 0, 1])["virality"].round(4).tolist()
    [1.3333]
    """
    above = np.asarray(parent, np.int64)
    depth = depths(above)
    root, below = np.arange(above.size), np.ones(above.size)
    order = np.argsort(depth, kind="stable")
    levels = np.split(order, np.cumsum(np.bincount(depth))[:-1]) if above.size else []
    for level in levels[1:]:
        root[level] = root[above[level]]
    for level in reversed(levels[1:]):
        below += np.bincount(above[level], weights=below[level], minlength=above.size)
    roots = np.flatnonzero(above < 0)
    size = below[roots]
    linked = np.flatnonzero(above >= 0)
    paths = below[linked] * (below[root[linked]] - below[linked])
    wiener = np.bincount(root[linked], weights=paths, minlength=above.size)[roots]
    deepest = np.zeros(above.size)
    np.maximum.at(deepest, root, depth)
    pairs = size * (size - 1)
    return {
        "root": roots.astype(np.float64),
        "size": size,
        "depth": deepest[roots],
        "breadth": _breadth(root, depth)[roots],
        "virality": np.divide(2 * wiener, pairs, out=np.full(roots.size, np.nan), where=pairs > 0),
    }


def _breadth(root: Whole, depth: Whole) -> npt.NDArray[np.float64]:
    """Most nodes at one depth, at the row of each root."""
    most = np.zeros(root.size)
    if root.size:
        width = int(depth.max()) + 1
        place, count = np.unique(root * width + depth, return_counts=True)
        np.maximum.at(most, place // width, count)
    return most

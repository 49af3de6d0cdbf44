"""What a comparison keeps of each finished run, so that its answer and its report do not read the tables again.

Each kind is a Parquet file beside ``experiment.json``, whose column ``run`` has the kind's version and the content hash
of a run. Its rows are made as the run ends, and anew where they are missing, damaged or of another version: the files
may be deleted.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import polars as pl

from townsquare.analysis.causes.mover import MOVERS, movers
from townsquare.analysis.contract import Reads
from townsquare.analysis.courses import COURSES, courses
from townsquare.analysis.notes import FOLLOWED, followed_posts


class Extract(NamedTuple):
    """One kind: its file, the columns of its frames, and what makes the frame of a run.

    Another ``version`` makes stored frames anew: raise it when what they hold changes.
    """

    file: str
    version: int
    columns: Mapping[str, pl.DataType | type[pl.DataType]]
    of: Callable[[Reads], pl.DataFrame]


COURSES_EXTRACT = Extract("courses.parquet", 5, COURSES, courses)
MOVERS_EXTRACT = Extract("movers.parquet", 1, MOVERS, movers)
POSTS_EXTRACT = Extract("posts.parquet", 3, FOLLOWED, followed_posts)
KINDS = (COURSES_EXTRACT, MOVERS_EXTRACT, POSTS_EXTRACT)


def read_extracts(folder: Path, kind: Extract) -> dict[str, pl.DataFrame]:
    """Return the frames in the file of a kind, by content hash; none where it is missing or damaged."""
    try:
        stored = pl.read_parquet(folder / kind.file)
    except (OSError, pl.exceptions.PolarsError):
        return {}
    if dict(stored.schema) != {**kind.columns, "run": pl.String}:
        return {}
    prefix, parts = f"{kind.version}:", stored.group_by("run", maintain_order=True)
    return {str(run).removeprefix(prefix): part.drop("run") for (run,), part in parts if str(run).startswith(prefix)}


def write_extracts(folder: Path, kind: Extract, frames: Mapping[str, pl.DataFrame]) -> None:
    """Write the frames of a kind, by content hash; nothing where the folder cannot be written."""
    path = folder / kind.file
    parts = [frame.with_columns(run=pl.lit(f"{kind.version}:{content}")) for content, frame in frames.items()]
    draft = path.with_suffix(f".{os.getpid()}.part")
    with suppress(OSError):
        try:
            pl.concat(parts).write_parquet(draft)
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)

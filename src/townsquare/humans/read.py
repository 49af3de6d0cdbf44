"""Reading human data: which adapter a file or folder is for, and what it gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from townsquare.core.errors import DataError, SettingError
from townsquare.core.files import is_file, is_folder, read_text
from townsquare.core.registry import did_you_mean
from townsquare.humans.adapters import delidata, mapped, nyu, persuasiontrace, plain
from townsquare.humans.adapters.folder import TRAJECTORIES
from townsquare.humans.adapters.mapping_file import read_mapping
from townsquare.humans.checked import joined
from townsquare.humans.trajectories import Row, Trajectories

Read = Callable[[Path], Iterator[Row | DataError]]

FOLDERS: dict[str, tuple[str, Read]] = {
    "persuasiontrace": (persuasiontrace.MARK, persuasiontrace.read),
    "nyu": (nyu.MARK, nyu.read),
    "delidata": (delidata.MARK, delidata.read),
}
"""Adapters of folders: the column that tells them apart, and how they read."""
FORMATS = (*FOLDERS, "plain")
ONE_FILE = (".csv", ".tsv", ".jsonl", ".ndjson")


def read_humans(path: Path, *, form: str = "", mapping: str = "", skip_bad: bool = False) -> Trajectories:
    """Human trajectories from a folder or file.

    Parameters
    ----------
    path : Path
        A folder in the form of one of the data sets, a file of the plain form, or what a mapping is for.
    form : str
        One of :data:`FORMATS`; "" finds it out.
    mapping : str
        A mapping file, or the name of a bundled one; "" for none.
    skip_bad : bool
        Leave out rows that are wrong, and say which.

    Raises
    ------
    DataError
        What cannot be read, with file and row.
    SettingError
        An unknown form, or a form beside a mapping.
    """
    if form and form not in FORMATS:
        raise SettingError("--format", got=repr(form), allowed=", ".join(FORMATS), do=did_you_mean(form, FORMATS))
    if form and mapping:
        raise SettingError("--format", got="a mapping beside it", allowed="one of the two")
    if not is_file(path) and not is_folder(path):
        raise DataError(str(path), got="nothing there", allowed="a folder or file of human data")
    if mapping:
        known = read_mapping(mapping)
        return joined(known.name, mapped.read(path, known), skip_bad=skip_bad)
    found = form or _form_of(path)
    rows = plain.read(path) if found == "plain" else FOLDERS[found][1](path)
    return joined(found if found != "plain" else path.stem, rows, skip_bad=skip_bad)


def _form_of(path: Path) -> str:
    if is_file(path):
        if path.suffix.lower() not in ONE_FILE:
            allowed = "a folder, or a file that ends in " + ", ".join(ONE_FILE)
            raise DataError(str(path), got=path.suffix or "no ending", allowed=allowed)
        return "plain"
    people = path / TRAJECTORIES
    header = read_text(people).split("\n", 1)[0].lower() if is_file(people) else ""
    columns = [name.strip() for name in header.split(",")]
    for name, (mark, _) in FOLDERS.items():
        if mark in columns:
            return name
    do = "name the columns in a mapping file, or give a file of the plain form"
    raise DataError(str(path), got="a folder of no known form", allowed=", ".join(FOLDERS), do=do)

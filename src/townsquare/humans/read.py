"""Read human data: choose the adapter for a file or folder."""

from __future__ import annotations

from pathlib import Path

from townsquare.core.errors import DataError, SettingError
from townsquare.core.files import is_file, is_folder
from townsquare.core.registry import check_known
from townsquare.core.tabular import TABLE_KINDS
from townsquare.humans.adapters import crowds, mapped, plain
from townsquare.humans.adapters.mapping_file import read_mapping
from townsquare.humans.checked import joined
from townsquare.humans.trajectories import Trajectories

FOLDERS = {"persuasiontrace": "persuader_side", "nyu": "judge_kind", "delidata": "card"}
"""Folders that bundled mappings of these names read: the column of the people that tells each apart."""
PEOPLE = "trajectories.csv"
FORMATS = (*FOLDERS, "crowds", "plain")


def read_humans(path: Path, *, form: str = "", mapping: str = "", skip_bad: bool = False) -> Trajectories:
    """Return human trajectories from a folder or file.

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
        An unknown form, or a form next to a mapping.
    """
    if form:
        check_known("--format", form, FORMATS, SettingError)
    if form and mapping:
        raise SettingError("--format", got="also a mapping", allowed="only one of the two")
    if not is_file(path) and not is_folder(path):
        raise DataError(str(path), got="no such file or folder", allowed="a folder or file of human data")
    adapter = mapping or form or _form_of(path)
    if adapter == "plain" and not mapping:
        return joined(path.stem, plain.read(path), skip_bad=skip_bad)
    if adapter == "crowds" and not mapping:
        file = path if is_file(path) else crowds.table_in(path)
        if file is None:
            raise DataError(str(path), got="no table of answers in rounds", allowed=crowds.ABOUT)
        return joined(path.resolve().stem, crowds.read(file), skip_bad=skip_bad)
    known = read_mapping(adapter)
    return joined(known.name, mapped.read(path, known), skip_bad=skip_bad)


def mapping_of(folder: Path) -> str:
    """Return the bundled mapping that reads a folder, by the columns of its people; "" for none."""
    people = folder / PEOPLE
    if not is_file(people):
        return ""
    with people.open("rb") as file:
        header = file.readline(65_536).decode("utf-8-sig", "replace").lower()
    columns = {name.strip() for name in header.split(",")}
    return next((name for name, mark in FOLDERS.items() if mark in columns), "")


def _form_of(path: Path) -> str:
    if is_file(path):
        if path.suffix.lower() not in TABLE_KINDS:
            allowed = "a folder, or a file that ends in " + ", ".join(TABLE_KINDS)
            raise DataError(str(path), got=path.suffix or "no ending", allowed=allowed)
        return "plain"
    if mapping := mapping_of(path):
        return mapping
    if crowds.table_in(path) is not None:
        return "crowds"
    do = "name the columns in a mapping file, or give a file of the plain form"
    raise DataError(str(path), got="a folder in an unknown format", allowed=", ".join(FORMATS[:-1]), do=do)

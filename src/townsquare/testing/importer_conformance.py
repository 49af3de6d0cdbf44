"""Conformance check of importers, for anyone's importer."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from townsquare.core.tabular import Record
from townsquare.scenario.importers.contract import FAMILY, TABLES, Importer, read_import
from townsquare.scenario.read import scenario_of_document
from townsquare.settings.config import MemberParams
from townsquare.testing.member_calls import MemberUnderTest


def check_importer(importer: Importer, files: Sequence[Path], params: MemberParams | None = None) -> None:
    """Raise if an importer breaks its contract on some files that it can read.

    Checked: the same files give the same rows; the files are only read; rows say where they came from, in records;
    they make a scenario.

    Parameters
    ----------
    importer : Importer
        Registered or not.
    files : sequence of Path
        An export that it takes.
    params : MemberParams, optional
        Its mapping; the defaults if not given.

    Raises
    ------
    ContractError
        For the first thing that broke.
    DataError
        Rows that no scenario may hold, with file and row.
    """
    test = MemberUnderTest.of(FAMILY, importer, params)
    before = [hashlib.sha256(file.read_bytes()).digest() for file in files]
    (first, document), (second, _) = (read_import(importer, files, test.params) for _ in range(2))
    if before != [hashlib.sha256(file.read_bytes()).digest() for file in files]:
        raise test.broken("a changed file", "files that are only read")
    if first != second:
        raise test.broken("other rows from the same files", "a function of the files and the mapping alone")
    for name in TABLES:
        for row in getattr(first, name):
            if not isinstance(row, Record) or not row.location:
                raise test.broken(f"{name} with a {type(row).__name__}", "records, each with its place in a file")
    scenario_of_document(Path("scenario.yaml"), "", "imported", document)

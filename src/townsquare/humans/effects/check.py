"""Compare predictions with experiments on people: the front of ``townsquare check people``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from townsquare.core.arguments import checked
from townsquare.core.cells import read_columns
from townsquare.core.errors import DataError
from townsquare.core.files import is_file, is_folder
from townsquare.core.tabular import TABLE_KINDS, read_table
from townsquare.humans.effects import crowds, known_samples, labels, repetition, retest
from townsquare.humans.effects.chats import check_trajectories
from townsquare.humans.effects.contract import Arm, Check, Form, Source
from townsquare.humans.read import FOLDERS, PEOPLE, mapping_of, read_humans
from townsquare.humans.trajectories import Trajectories

FORMS: tuple[Form, ...] = (
    labels.FORM, labels.HEADLINES, repetition.FORM, crowds.FORM, known_samples.FORM, retest.PANEL, retest.BEFORE_AFTER,
    retest.SITTING,
)  # fmt: skip
PAGE = "docs/human-data.md"
TRAJECTORIES = f"trajectories ({PEOPLE} with a column {' or '.join(FOLDERS.values())})"


@checked
def check_people(
    folders: Sequence[Path | str] | Path | str, *, fit: bool = False, on_progress: Callable[[int], None] | None = None
) -> list[Arm]:
    """Compare experiments on people with the predictions of ``credence``, ``averaging`` and ``beliefs.answers``.

    Parameters
    ----------
    folders : sequence of Path or str, or one of them
        Folders of data in one of the forms of docs/human-data.md, recognized by their columns.
    fit : bool
        Predict each study, group, person or conversation with one parameter fitted to the others (labels: in all
        folders), instead of with the value in docs/beliefs-and-people.md.
    on_progress : callable, optional
        Called before each folder with the number of folders read so far.

    Returns
    -------
    list of Arm
        Observed and predicted effects, errors, goals, baselines.

    Raises
    ------
    DataError
        A folder holds no table of a known form, or a table that cannot be read, with file, row and column.
    """
    paths = [Path(folder) for folder in ([folders] if isinstance(folders, Path | str) else folders)]
    if not paths:
        raise DataError("DIR", got="nothing", allowed="at least one folder of data")
    sources: list[Source] = []
    chats: list[tuple[str, Trajectories]] = []
    report = on_progress or (lambda done: None)
    for at, path in enumerate(paths):
        report(at)
        if not is_folder(path):
            raise DataError(str(path), got="no such folder", allowed="a folder of data")
        if mapping_of(path):
            chats.append((path.resolve().name, read_humans(path, skip_bad=True)))
        else:
            sources += _tables(path)
    by_check: dict[Check, list[Source]] = {}
    forms = {form.name: form.check for form in FORMS}
    for source in sources:
        by_check.setdefault(forms[source.form], []).append(source)
    arms = [arm for check, of in by_check.items() for arm in check(of, fit)]
    arms += [arm for name, people in chats for arm in check_trajectories(name, people, fit)]
    report(len(paths))
    return arms


def _tables(folder: Path) -> list[Source]:
    """Return every table of a folder that has one of the forms."""
    arms, seen = [], []
    for path in sorted(folder.iterdir()):
        if path.suffix.lower() not in TABLE_KINDS or not is_file(path):
            continue
        table = read_table(path)
        for form in FORMS:
            columns = form.columns_of(table.columns)
            if columns is not None:
                sheet = read_columns(table, columns, strict=False, least="at least one row")
                arms.append(Source(folder.resolve().name, form.name, sheet))
                break
        else:
            seen.append(f"{path.name} ({', '.join(table.columns[:12])})"[:300])
    if not arms:
        got = "no table of a known form: " + ("; ".join(seen[:4]) or "no CSV, JSON lines or Parquet file")
        allowed = "; ".join([*(f"{form.name} ({form.about})" for form in FORMS), TRAJECTORIES])
        raise DataError(str(folder), got=got, allowed=allowed, do=f"name the columns as {PAGE} does")
    return arms

"""Rows that are held once a code, or block by block: to a reader, a hash and a store they are what they always were."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from raised_errors import raises_error
from random_records import header, random_rows, summary_of
from townsquare.core import schema
from townsquare.core.coded_rows import CodedRows, PartedRows, column_at, row_count
from townsquare.core.errors import RecordError, TownsquareError
from townsquare.record.batches import Batches
from townsquare.record.content_hash import HashChain
from townsquare.record.packed import CODE
from townsquare.record.parquet import beside_path, part_path
from townsquare.record.run import Run
from townsquare.record.sqlite import FolderRecorder

OF_ROOT = ("root", "under", "likes", "dislikes", "shares", "comments", "flags", "verdict", "note", "weight")


def coded(n: int, codes: int, step: int = 0) -> CodedRows:
    """Exposures of a few roots."""
    rng = np.random.default_rng(n + step)
    rows, beside = random_rows(rng, "exposures", n, step), random_rows(rng, "exposures", codes, step)
    columns = {name: np.asarray(column) for name, column in rows.items() if name not in OF_ROOT}
    code = rng.integers(0, codes, n).astype(np.int32)
    return CodedRows(columns, code, {name: np.asarray(beside[name]) for name in OF_ROOT})


def plain(rows: CodedRows | PartedRows) -> dict[str, object]:
    return {name: np.array(rows[name]) for name in rows}


def batches(rows: object, step: int = 0) -> Batches:
    out = Batches(step)
    out.add({"exposures": rows})  # type: ignore[dict-item]
    return out


@pytest.mark.parametrize("n", [1, 7, 200_000])
def test_a_hash_does_not_tell_how_rows_are_held(n: int) -> None:
    rows = coded(n, 50)
    parts = PartedRows([{name: column[:3] for name, column in rows.items()}, dict(rows.take(np.arange(3, n)).items())])
    hashes = {HashChain().add(0, batches(held).get) for held in (rows, plain(rows), parts)}
    assert len(hashes) == 1
    other = coded(n, 50)
    changed = CodedRows(other.columns, other.index, other.per_root | {"likes": other.per_root["likes"] + 1})
    assert HashChain().add(0, batches(changed).get) not in hashes


def test_rows_added_in_turns_are_joined() -> None:
    one, two = coded(5, 3), coded(4, 2)
    out = batches(one)
    out.add({"exposures": two})
    joined = out.get("exposures")
    assert isinstance(joined, CodedRows)
    assert (out.count("exposures"), row_count(joined)) == (9, 9)
    for name in joined:
        np.testing.assert_array_equal(joined[name], np.r_[one[name], two[name]])
    out.add({"exposures": plain(one)})  # type: ignore[dict-item]
    np.testing.assert_array_equal(np.asarray(out.get("exposures")["likes"])[-5:], one["likes"])


def test_a_part_of_the_rows() -> None:
    rows = coded(100, 7)
    places = np.array([3, 99, 0])
    for name in rows:
        np.testing.assert_array_equal(rows.at(name, places), rows[name][places])
        np.testing.assert_array_equal(column_at(plain(rows), name, places), rows[name][places])
        np.testing.assert_array_equal(rows.take(rows["rank"] > 2)[name], rows[name][rows["rank"] > 2])
        np.testing.assert_array_equal(CodedRows.of(plain(rows))[name], rows[name])
        np.testing.assert_array_equal(np.concatenate([part.copy() for part in rows.parts(name)]), rows[name])


def test_columns_are_not_written_through() -> None:
    rows = coded(4, 2)
    for held in (rows, PartedRows([dict(rows.items())])):
        for name in held:
            with pytest.raises(ValueError, match="read-only"):
                held[name][0] = 1


@pytest.mark.parametrize("form", ["coded", "parted"])
def test_columns_of_another_dtype_are_refused(form: str) -> None:
    rows = coded(4, 2)
    wide = rows.per_root | {"likes": rows.per_root["likes"].astype(np.int64)}
    wrong = CodedRows(rows.columns, rows.index, wide)
    with pytest.raises(ValueError, match=r"exposures\.likes"):
        batches(wrong if form == "coded" else PartedRows([dict(wrong.items())]))


def recorded(folder: Path, steps: list[CodedRows | PartedRows]) -> Run:
    recorder, chain = FolderRecorder(folder), HashChain()
    recorder.open(header(bulky=True))
    for step, rows in enumerate(steps):
        out = batches(rows, step)
        recorder.save_step(out, summary_of(out, chain))
    recorder.close("finished")
    return Run.open(folder)


def test_parquet_holds_what_follows_from_the_root_once(tmp_path: Path) -> None:
    steps: list[CodedRows | PartedRows] = [
        coded(500, 9, 0),
        PartedRows([dict(coded(40, 3, 1).items())] * 2),
        coded(60, 4, 2),
    ]
    run = recorded(tmp_path, steps)
    assert run.verify() == run.content_hash
    whole = pl.concat([pl.DataFrame(plain(rows)) for rows in steps])
    names = [column.name for column in schema.TABLES["exposures"].recorded]
    assert_frame_equal(run.table("exposures"), whole.select(names))
    assert_frame_equal(run.table("exposures", (1, 1), ["likes"]), pl.DataFrame(plain(steps[1])).select("likes"))
    query = (
        "SELECT step, sum(likes) AS likes, count(*) AS n FROM ts_exposures WHERE verdict < 2 GROUP BY step ORDER BY 1"
    )
    sums = run.sql(query)
    expected = (
        whole.filter(pl.col("verdict") < 2)
        .group_by("step")
        .agg(pl.col("likes").cast(pl.Int64).sum(), n=pl.len())
        .sort("step")
    )
    assert sums.rows() == expected.rows()
    part = part_path(tmp_path, "exposures", 0)
    assert set(pl.read_parquet_schema(beside_path(part))) == set(OF_ROOT)
    assert set(pl.read_parquet_schema(part)) == set(names) - set(OF_ROOT) | {CODE}
    assert pl.read_parquet(beside_path(part)).height == 9


@pytest.mark.parametrize("damage", ["lost", "cut"])
def test_a_second_file_that_is_damaged_is_named(damage: str, tmp_path: Path) -> None:
    run = recorded(tmp_path, [coded(50, 5)])
    beside = beside_path(part_path(tmp_path, "exposures", 0))
    if damage == "lost":
        beside.unlink()
    else:
        beside.write_bytes(beside.read_bytes()[:40])
        run.table("exposures", columns=["post"])
    with raises_error(RecordError, where="exposures"):
        run.table("exposures", columns=["likes"])
    with pytest.raises(RecordError):
        run.verify()
    with pytest.raises(TownsquareError):
        run.sql("SELECT sum(likes) AS likes FROM ts_exposures")


def test_a_second_file_of_a_step_that_was_not_committed_goes(tmp_path: Path) -> None:
    recorded(tmp_path, [coded(50, 5)])
    part = part_path(tmp_path, "exposures", 1)
    for kind in (part, beside_path(part)):
        shutil.copy(part_path(tmp_path, "exposures", 0), kind)
    recorder = FolderRecorder(tmp_path)
    recorder.open(header(bulky=True))
    assert not part.exists()
    assert not beside_path(part).exists()
    recorder.close("stopped")

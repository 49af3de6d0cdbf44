"""The content hash: any value, any order and any step counts; storage, batching and threads do not."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from random_records import random_batches, random_rows
from townsquare.core import schema
from townsquare.record.batches import Batches
from townsquare.record.content_hash import START, HashChain, hashed_tables

Rows = dict[str, dict[str, object]]


def hash_of(rows: Rows, step: int = 0) -> str:
    out = Batches(step)
    out.add(rows)  # type: ignore[arg-type]
    return HashChain().add(step, out.get)


def some_rows(n: int = 4, seed: int = 1) -> Rows:
    rng = np.random.default_rng(seed)
    return {table: dict(random_rows(rng, table, n, 0)) for table in hashed_tables()}


def flipped(value: object, row: int) -> object:
    """The column with one bit of one row changed."""
    if isinstance(value, list):
        return [text + "\x00" if at == row else text for at, text in enumerate(value)]
    array = np.array(value)
    if array.dtype == bool:
        array[row] = not array[row]
    else:
        array.view(np.uint8).reshape(array.shape[0], -1)[row, 0] ^= 1
    return array


def test_every_hashed_value_counts() -> None:
    rows = some_rows()
    for columns in rows.values():
        for name, value in columns.items():
            if not isinstance(value, list) and np.asarray(value).dtype.kind == "f":
                columns[name] = np.array([0.5, 0.25, -1.0, 3.0])  # a bit of a NaN or of -0.0 may not count
    before = hash_of(rows)
    for table, columns in rows.items():
        for column in schema.TABLES[table].recorded:
            changed = rows | {table: columns | {column.name: flipped(columns[column.name], 2)}}
            assert (hash_of(changed) != before) == column.hashed, f"{table}.{column.name}"


@pytest.mark.parametrize("table", hashed_tables())
def test_order_and_number_of_rows_count(table: str) -> None:
    columns = dict(random_rows(np.random.default_rng(3), table, 3, 0))
    first = schema.TABLES[table].recorded[0].name
    columns[first] = ["a", "b", "c"] if isinstance(columns[first], list) else np.array([1, 2, 3])
    take: Callable[[list[int]], Rows] = lambda order: {  # noqa: E731
        table: {k: [v[i] for i in order] if isinstance(v, list) else np.asarray(v)[order] for k, v in columns.items()}
    }
    hashes = [hash_of(take(order)) for order in ([0, 1, 2], [1, 0, 2], [0, 1], [0, 1, 2, 2])]
    assert len(set(hashes)) == 4


def test_the_step_of_a_row_counts() -> None:
    rows, none = some_rows(), Batches(0)
    full = Batches(0)
    full.add(rows)  # type: ignore[arg-type]
    one, other = HashChain(), HashChain()
    one.add(0, full.get)
    other.add(0, none.get)
    assert one.add(1, none.get) != other.add(1, full.get)


def test_text_cannot_move_between_rows() -> None:
    assert hash_of({"texts": {"text": np.array([0, 1]), "content": ["ab", "c"]}}) != hash_of(
        {"texts": {"text": np.array([0, 1]), "content": ["a", "bc"]}}
    )


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**32), st.integers(0, 6))
def test_the_same_rows_in_other_batches_have_the_same_hash(seed: int, cut: int) -> None:
    out = random_batches(0, seed, most=6)
    parts = Batches(0)
    for table in out.tables():
        for piece in (slice(0, cut), slice(cut, None)):
            parts.add({table: {name: value[piece] for name, value in out.get(table).items()}})
    assert HashChain().add(0, parts.get) == HashChain().add(0, out.get)


def test_zeros_and_missing_numbers_are_one_value_each() -> None:
    odd = np.array([0xFFF8000000001234, 0x7FF0000000000001], dtype=np.uint64).view(np.float64)
    plain = {"step": 0, "post": 0, "kind": 0, "reason": ""}
    hashes = {
        hash_of({"moderation_log": dict(schema.rows("moderation_log", 3, **plain, value=np.array(values)))})
        for values in ([np.nan, 0.0, np.nan], [-np.nan, -0.0, np.nan], [odd[0], -0.0, odd[1]])
    }
    assert len(hashes) == 1


def test_byte_order_and_strides_do_not_count() -> None:
    rows = {"note_ratings": dict(random_rows(np.random.default_rng(5), "note_ratings", 6, 0))}
    swapped = {
        name: np.repeat(np.asarray(value), 2).astype(np.asarray(value).dtype.newbyteorder(">"))[::2]
        for name, value in rows["note_ratings"].items()
    }
    assert HashChain().add(0, lambda name: swapped if name == "note_ratings" else schema.empty(name)) == hash_of(rows)


def oracle(step: int, out: Batches) -> str:
    """The first step of a chain, from the words of the docstring."""

    def number(value: int) -> bytes:
        return struct.pack("<q", value)

    def text(value: str) -> bytes:
        return number(len(value.encode())) + value.encode()

    def digest(column: schema.Column, values: object) -> bytes:
        if column.dtype == "str":
            encoded = [value.encode() for value in values]  # type: ignore[attr-defined]
            return hashlib.sha256(b"".join(map(number, map(len, encoded))) + b"".join(encoded)).digest()
        array = np.asarray(values).astype(np.dtype(column.dtype).newbyteorder("<"))
        if column.dtype == "f8":
            array = np.where(np.isnan(array), np.nan, np.where(array == 0.0, 0.0, array)).astype("<f8")
        return hashlib.sha256(array.tobytes()).digest()

    def part(column: schema.Column, values: Any) -> bytes:
        if column.dtype != "str" and column.dtype != "f8" and len(set(np.asarray(values).tolist())) == 1:
            values = values[:1]
        return text(column.name) + text(column.dtype) + number(len(values)) + digest(column, values)

    def repeating(columns: list[schema.Column], rows: Any) -> bytes:
        canonical = [np.asarray(rows[column.name]) for column in columns]
        words = [
            [repr(value + 0.0) if column.dtype == "f8" else value for value in values.tolist()]
            for column, values in zip(columns, canonical, strict=True)
        ]
        number_of: dict[tuple[object, ...], int] = {}
        numbers = [number_of.setdefault(row, len(number_of)) for row in zip(*words, strict=True)]
        at = dict(zip(reversed(numbers), reversed(range(len(numbers))), strict=True))
        first = [at[number] for number in range(len(number_of))]
        out = b"".join(
            text(column.name) + text(column.dtype) + number(len(first)) + digest(column, values[first])
            for column, values in zip(columns, canonical, strict=True)
        )
        code = schema.Column("combination", "i4", "")
        return out + text(code.name) + text(code.dtype) + number(len(numbers)) + digest(code, numbers)

    def adds_nothing(column: schema.Column, rows: Any) -> bool:
        if column.since == 1:
            return False
        if not column.refines:
            values = np.asarray(rows[column.name])
            return bool((np.isnan(values) if column.dtype.startswith("f") else values == column.missing).all())
        pairs = zip(np.asarray(rows[column.name]), np.asarray(rows[column.refines]), strict=True)
        return all(new != new or new == old for new, old in pairs)

    said = hashlib.sha256(START).digest() + number(step)
    for name in out.tables():
        said += text(name) + number(out.count(name))
        rows = out.get(name)
        hashed = [c for c in schema.TABLES[name].recorded if c.hashed and not adds_nothing(c, rows)]
        if any(column.repeats for column in hashed):
            said += repeating([column for column in hashed if column.repeats], rows)
        said += b"".join(part(column, rows[column.name]) for column in hashed if not column.repeats)
    return hashlib.sha256(said).hexdigest()


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 2**32), st.integers(0, 5))
@example(3334, 0)  # every taste drawn is missing
@example(2018300, 0)  # every rating drawn is "not helpful" or missing, so that the column of ratings does not count
def test_the_hash_is_what_its_docstring_says(seed: int, step: int) -> None:
    out = random_batches(step, seed)
    assert HashChain().add(step, out.get) == oracle(step, out)


def test_large_tables_hashed_in_blocks_by_threads_too() -> None:
    out = Batches(0)
    rows = dict(random_rows(np.random.default_rng(2), "exposures", 75_001, 0))
    out.add({"exposures": {name: np.tile(column, 2) for name, column in rows.items()}})
    assert HashChain().add(0, out.get) == oracle(0, out)


def test_a_value_and_the_same_value_twice_differ() -> None:
    """A column of one value is hashed as that value, and which of two rows has another one counts all the same."""

    def of(*agents: int) -> str:
        rows = schema.rows("note_ratings", len(agents), note=0, agent=list(agents), step=0, helpful=True)
        return hash_of({"note_ratings": dict(rows)})

    assert len({of(*agents) for agents in ([3], [3, 3], [3, 4], [4, 3], [4, 4], [3, 3, 4])}) == 6


def test_combinations_are_told_apart_by_every_column() -> None:
    """Rows of exposures that differ in one repeating column alone, in either order, and not at all."""
    one = dict(random_rows(np.random.default_rng(3), "exposures", 1, 0))
    for column in schema.TABLES["exposures"].recorded:
        if not column.repeats:
            continue
        values = np.array([0.5, 1.0] if column.dtype == "f8" else [0, 1], column.dtype)
        hashes = set()
        for order in ([0, 1], [1, 0], [0, 0], [1, 1], [0, 1, 0], [0, 0, 1]):
            rows = {name: np.repeat(value, len(order)) for name, value in one.items()}
            hashes.add(hash_of({"exposures": rows | {column.name: values[order]}}))
        assert len(hashes) == 6, column.name

"""Several numbers at once, in compiled code that a compiler does not find by itself.

The processor does each in one or a few instructions where it can, and number by number where it cannot; results are
the same.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.errors import TypingError
from numba.extending import intrinsic

LANES = 8
"""Columns of rows that are put in order."""
MANY = 16
"""Numbers that are looked at at once."""


@intrinsic
def put_in_order(typing: Any, words: Any, one: Any, other: Any) -> Any:
    """The smaller word of each lane to row ``one``, the larger to ``other``; ``words`` (n, 8) uint64, contiguous."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        rows = ir.VectorType(ir.IntType(64), LANES)
        at = [_address(context, builder, signature, arguments, k, rows) for k in (1, 2)]
        a, b = (builder.load(place, align=8) for place in at)
        less = builder.icmp_unsigned("<", a, b)
        builder.store(builder.select(less, a, b), at[0], align=8)
        builder.store(builder.select(less, b, a), at[1], align=8)
        return context.get_dummy_value()

    return types.void(words, one, other), code


@intrinsic
def among(typing: Any, numbers: Any, first: Any, wanted: Any) -> Any:
    """Whether one of the 16 ``numbers`` from place ``first`` is ``wanted``; (n,) int32, contiguous."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        number = ir.IntType(32)
        row = ir.VectorType(number, MANY)
        found = builder.load(_address(context, builder, signature, arguments, 1, row), align=4)
        value = context.cast(builder, arguments[2], signature.args[2], types.int32)
        one = builder.insert_element(ir.Constant(row, ir.Undefined), value, number(0))
        all_same = builder.shuffle_vector(one, one, ir.Constant(row, [0] * MANY))
        bits = builder.bitcast(builder.icmp_signed("==", found, all_same), ir.IntType(MANY))
        return builder.icmp_unsigned("!=", bits, ir.IntType(MANY)(0))

    return types.boolean(numbers, first, wanted), code


@intrinsic
def copy_many(typing: Any, source: Any, first: Any, target: Any, at: Any) -> Any:
    """The 16 numbers of ``source`` from place ``first`` to place ``at`` of ``target``; both contiguous, of one dtype.

    All are read before any is written. A compiler that does not know whether two arrays overlap copies one by one.
    """
    if source.layout != "C" or target.layout != "C" or source.dtype != target.dtype:
        raise TypingError(f"from {source} to {target}: not both contiguous and of one dtype")

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        number = signature.args[0].dtype
        row, size = ir.VectorType(context.get_data_type(number), MANY), number.bitwidth // 8
        read, written = (_address(context, builder, signature, arguments, k, row, array=k - 1) for k in (1, 3))
        builder.store(builder.load(read, align=size), written, align=size)
        return context.get_dummy_value()

    return types.void(source, first, target, at), code


def _address(context: Any, builder: Any, signature: Any, arguments: Any, k: int, kind: Any, array: int = 0) -> Any:
    """Where in the argument ``array`` the place stands that argument ``k`` says, as a pointer to ``kind``."""
    held = context.make_array(signature.args[array])(context, builder, arguments[array])
    stride = builder.extract_value(held.strides, 0)
    place = context.cast(builder, arguments[k], signature.args[k], types.intp)
    begin = builder.ptrtoint(held.data, stride.type)
    return builder.inttoptr(builder.add(begin, builder.mul(place, stride)), kind.as_pointer())

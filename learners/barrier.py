"""A barrier at which threads, or processes that share memory, meet while they run one kernel.

Each member says how far it is in a cache line that nobody else writes to, and waits until all
others are as far. Its place is stored with release order and read with acquire order. So whatever a
member wrote before it came to a place, all others see when they have met there, also on processors
that reorder memory operations, such as ARM.

A member that waits for long gives its core to others, because the one that it waits for may need
the core. If a thread fails it calls `give_up`, and the others wait no longer.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from learners.arrays import Longs
from learners.jit import njit

# Numbers from one place to the next: two cache lines, because processors fetch lines in pairs.
SPACING = 16
SPINS = 2000  # reads of a place before the core is given to others, a few microseconds
FOREVER = 1 << 62

# The system's function that lets other threads run. Compiled code refers to it by name, so that
# kernels can be cached.
YIELD = "SwitchToThread" if sys.platform == "win32" else "sched_yield"
INT64 = ir.IntType(64)


def new_barrier(members: int) -> Longs:
    """The places of so many members, then a flag that one of them gave up."""
    return np.zeros((members + 1) * SPACING, np.int64)


def give_up(barrier: Longs) -> None:
    """Let nobody wait any more; `meet` then returns False."""
    barrier[len(barrier) - SPACING] = 1


if TYPE_CHECKING:

    def load_acquire(array: Longs, index: int) -> int:
        """Read a number, and see all that was written before it was stored."""

    def store_release(array: Longs, index: int, value: int) -> None:
        """Write a number, after all that was written before it."""

    def yield_core() -> None:
        """Let other threads run on this core."""

else:

    def address(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
        """Where the number with this index is in memory."""
        pointer = context.make_array(array_type)(context, builder, array).data
        return builder.gep(pointer, [index])

    @intrinsic
    def load_acquire(typing_context, array, index):
        """Read a number, and see all that was written before it was stored."""

        def generate(context, builder, signature, arguments):
            where = address(context, builder, signature.args[0], *arguments)
            return builder.load_atomic(where, "acquire", 8, typ=INT64)

        return types.int64(array, types.int64), generate

    @intrinsic
    def store_release(typing_context, array, index, value):
        """Write a number, after all that was written before it."""

        def generate(context, builder, signature, arguments):
            where = address(context, builder, signature.args[0], *arguments[:2])
            builder.store_atomic(arguments[2], where, "release", 8)
            return context.get_dummy_value()

        return types.void(array, types.int64, types.int64), generate

    @intrinsic
    def yield_core(typing_context):
        """Let other threads run on this core."""

        def generate(context, builder, signature, arguments):
            kind = ir.FunctionType(ir.IntType(32), [])
            function = cgutils.get_or_insert_function(builder.module, kind, YIELD)
            builder.call(function, [])
            return context.get_dummy_value()

        return types.void(), generate


@njit
def meet(barrier: Longs, number: int, place: int, patience: int) -> bool:
    """Come to a place as member `number`, and wait until all others are there or beyond.

    Returns False if one of them gave up, or if the core was given to others `patience` times. Then
    the same place can be tried again.
    """
    if barrier[number * SPACING] < place:
        store_release(barrier, number * SPACING, place)
    members = len(barrier) // SPACING - 1
    for other in range(members):
        spins = 0
        while load_acquire(barrier, other * SPACING) < place:
            spins += 1
            if spins >= SPINS:
                if load_acquire(barrier, members * SPACING) != 0 or spins - SPINS >= patience:
                    return False
                yield_core()
    return True

"""How the inner loops are compiled."""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

import numba as nb
from numba.core import event

# Sums may be taken in any order, so that loops fill whole registers. No "nnan"/"ninf": a NaN in the
# data must stay visible.
FASTMATH = {"reassoc", "contract", "nsz"}

# A loop that another one calls exists twice in the machine code, by itself and beside its caller,
# and which of the two runs depends on whether the caller was compiled just now or came from the
# cache. With sums in any order the two may differ in their last bits, and so may two runs of one
# program. So loops that call each other keep to the order they are written in; a loop in which the
# order is free calls no other and is called from Python alone.
#
# All of them take contiguous float64 arrays only, so that each is compiled once; they release the
# GIL and start no threads, see `unseen.support.work.in_threads`.
_any_njit: Any = nb.njit
_njit = partial(_any_njit, error_model="numpy", nogil=True, no_cfunc_wrapper=True)
helper = _njit(no_cpython_wrapper=True)
# A product and a sum in one step, for helpers in which it is plain which product joins which sum.
fused_helper = _njit(no_cpython_wrapper=True, fastmath={"contract"})
kernel = _njit(cache=True)
free_order_kernel = _njit(cache=True, fastmath=FASTMATH)


class _Notice(event.Listener):
    """One line when the first loop of ours is compiled; of loops from its cache numba is silent."""

    is_due = True

    def on_start(self, event: event.Event) -> None:
        data: Any = event.data
        if self.is_due and data["dispatcher"].py_func.__module__.startswith("unseen."):
            self.is_due = False
            sys.stderr.write("compiling inner loops, once on this machine (about 8 s)\n")

    def on_end(self, event: event.Event) -> None:
        pass


event.register("numba:compile", _Notice())

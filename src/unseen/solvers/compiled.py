"""How the inner loops are compiled."""

from typing import Any

import numba as nb

# Sums may be taken in any order, so that loops fill whole registers. No "nnan"/"ninf": a NaN in the
# data must stay visible.
FASTMATH = {"reassoc", "contract", "nsz"}

# What other loops call is compiled into them. Else it would exist twice, by itself and beside its
# caller, and which of the two runs would depend on whether the caller was compiled just now or came
# from the cache: two runs of one program would differ in their last bits.
helper = nb.njit(cache=True, fastmath=FASTMATH, forceinline=True)
exact_helper = nb.njit(cache=True, forceinline=True)
OVERLOAD: Any = {"fastmath": FASTMATH, "forceinline": True}

# SPDX-License-Identifier: Apache-2.0
"""The result that the optimizer should reach on a module of the zoo."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Expect:
    """Counts after optimization; None where more than one answer is right.

    `merges` counts the groups of Linears on one input that became one Linear, including gate and
    up of a gated MLP. `merged` names their members; semicolons separate the groups. `reason` is a
    part of the reason that the optimizer gives where it must not fuse or merge.
    """

    attention: int | None = 1
    merges: int | None = 1
    merged: str = "q, k, v"
    linears: int | None = 2
    softmax: int | None = 0
    reason: str | None = None

    def as_json(self) -> dict[str, Any]:
        return {
            "attention": self.attention,
            "qkv_merges": self.merges,
            "merged": self.merged,
            "linears": self.linears,
            "softmax": self.softmax,
            "reason": self.reason,
        }


FUSED = Expect()
# One Linear holds q, k and v from the start: nothing is left to merge.
PACKED = Expect(merges=0, merged="")


def unfused(reason: str, **counts: Any) -> Expect:
    """The attention is not fused: q, k and v merge all the same, the Softmax stays."""
    return Expect(**{"attention": 0, "softmax": 1, "reason": reason, **counts})

# SPDX-License-Identifier: Apache-2.0
"""Describes this machine, from /proc."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

# The instruction sets that decide which kernels run, in attnrun or in a peer.
_INSTRUCTION_SETS = (
    "avx2 fma f16c avx_vnni avx512f avx512bw avx512vl avx512_vnni avx512_bf16 avx512_fp16 "
    "amx_tile amx_int8 amx_bf16"
).split()


@dataclass(frozen=True)
class Machine:
    """The machine of a record; fields that an older record lacks are None."""

    processor: str
    # Vendor and family/model, since the name of a cloud processor may say little.
    signature: str | None
    cores: int | None
    memory_gib: float | None
    instruction_sets: list[str]

    @property
    def slug(self) -> str:
        """The processor's name as a part of a file name."""
        return re.sub(r"[^a-z0-9]+", "-", self.processor.lower()).strip("-")


def _field(file: str, key: str) -> str:
    """The value of the first line "key : value" of a file in /proc; empty if there is none."""
    for line in Path("/proc", file).read_text().splitlines():
        name, _, value = line.partition(":")
        if name.strip() == key:
            return value.strip()
    return ""


def processor() -> str:
    """The processor's own name."""
    return _field("cpuinfo", "model name") or "unknown processor"


def machine() -> Machine:
    """This machine, with the cores that the process may use."""
    flags = set(_field("cpuinfo", "flags").split())
    vendor, family, model = (_field("cpuinfo", key) for key in ("vendor_id", "cpu family", "model"))
    kibibytes = int((_field("meminfo", "MemTotal") or "0 kB").split()[0])
    return Machine(
        processor(),
        f"{vendor} {family}/{model}",
        len(os.sched_getaffinity(0)),
        round(kibibytes / 2**20, 1),
        [name for name in _INSTRUCTION_SETS if name in flags],
    )

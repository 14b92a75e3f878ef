# SPDX-License-Identifier: Apache-2.0
"""The rates of the processor's units, which the program machine_peaks measures."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

# The units of each group's products, as machine_peaks names them; the fastest counts.
_UNITS = {
    "float32": ("fma_float32",),
    "bf16": ("amx_bf16", "avx512_bf16"),
    "int8": ("amx_int8", "avx512_vnni"),
}


@dataclass(frozen=True)
class Peaks:
    """10^9 operations per second of each unit, null for one that is missing, and the memory."""

    gflops: dict[str, float | None]
    # Reads in 10^9 bytes per second, and the sizes of the buffer and of the third-level cache.
    memory: dict[str, float]

    def unit(self, group: str) -> str | None:
        """The fastest unit of a group, or None if the processor has none."""
        rates = {name: self.gflops.get(name) or 0 for name in _UNITS[group]}
        best = max(rates, key=lambda name: rates[name])
        return best if rates[best] > 0 else None

    def of(self, group: str) -> float | None:
        unit = self.unit(group)
        return None if unit is None else self.gflops[unit]

    def best(self, other: Peaks) -> Peaks:
        """The higher rate of each unit; a neighbour may have slowed one of the measurements."""
        rates = {
            name: rate if rate is None else max(rate, other.gflops[name] or 0)
            for name, rate in self.gflops.items()
        }
        return Peaks(rates, max(self.memory, other.memory, key=lambda m: m["read_gb_per_s"]))

    @property
    def text(self) -> str:
        """For example "fma_float32 500, amx_bf16 6000 GFLOP/s; 20 GB/s from memory"."""
        rates = ", ".join(f"{n} {rate:.0f}" for n, rate in self.gflops.items() if rate is not None)
        buffer, cache = self.memory["buffer_mib"], self.memory["l3_mib"]
        read = f"{self.memory['read_gb_per_s']:.0f} GB/s read from {buffer:.0f} MiB"
        return f"{rates} GFLOP/s; {read} (third-level cache: {cache:.0f} MiB)"


def measure(program: Path, threads: int) -> Peaks:
    """Takes less than a second; repeat it next to what it is compared with."""
    command = [str(program), str(threads)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    report = json.loads(done.stdout)
    return Peaks(report["gflops"], report["memory"])

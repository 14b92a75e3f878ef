# SPDX-License-Identifier: Apache-2.0
"""Reports the comparison of whole models as Markdown."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from statistics import median
from typing import TYPE_CHECKING

from tools.bench.host import processor
from tools.bench.names import ATTNRUN, PEERS

if TYPE_CHECKING:
    from tools.bench.compare import Result

_TOLERANCE = 1e-4


def differs(result: Result) -> bool:
    # Written so that NaN counts as a difference.
    return not all(value <= _TOLERANCE for value in result.differences.values())


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---", *("---:" for _ in head[1:])], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _title(name: str) -> str:
    return f"{PEERS[name]} {version(name).partition('-')[0]}" if name in PEERS else name


def ratio(result: Result) -> float:
    """The best peer's time over attnrun's."""
    best = min(f.latency for name, f in result.engines.items() if name != ATTNRUN)
    return best / result.engines[ATTNRUN].latency


def ratio_of_turns(result: Result) -> float:
    """The median of that ratio over turns; a slow minute affects all engines of a turn alike."""
    turns = zip(*(f.latencies for name, f in result.engines.items() if name != ATTNRUN))
    return median(
        min(peers) / ours for peers, ours in zip(turns, result.engines[ATTNRUN].latencies)
    )


def _mean(numbers: Iterable[float]) -> float:
    logarithms = [math.log(number) for number in numbers]
    return math.exp(sum(logarithms) / len(logarithms))


def _speed(results: Sequence[Result], names: Sequence[str]) -> str:
    ratios = {"best peer / attnrun": ratio, "median of turns": ratio_of_turns}
    if len(names) == 1:
        ratios = {}
    rows = []
    for result in results:
        limit = result.gflop / result.peak * 1e3
        times = [result.engines[name].latency for name in names]
        cells = [result.job.title, *(f"{ms:.1f} ms" for ms in (limit, *times))]
        cells.append(f"{100 * limit / times[0]:.0f} %")
        rows.append([*cells, *(f"{ratio(result):.2f}" for ratio in ratios.values())])
    if ratios:
        means = [f"{_mean(map(ratio, results)):.2f}" for ratio in ratios.values()]
        rows.append(["geometric mean", *[""] * (len(names) + 2), *means])
    return _table(
        ["model", "limit at FMA peak", *map(_title, names), "share of peak", *ratios], rows
    )


def _costs(results: Sequence[Result], names: Sequence[str]) -> str:
    head = ["model", *(f"{what}, {name}" for what in ("load", "memory") for name in names)]
    differences = [f"difference, {name}" for name in names if name != ATTNRUN]
    rows = []
    for result in results:
        figures = [result.engines[name] for name in names]
        size = result.job.model.stat().st_size / 2**20
        row = [f"{result.job.title} ({size:.0f} MB)", *(f"{f.load:.0f} ms" for f in figures)]
        row += [f"{f.memory:.0f} MB" for f in figures]
        rows.append([*row, *(f"{value:.1e}" for value in result.differences.values())])
    return _table([*head, *differences], rows)


def markdown(results: Sequence[Result], names: Sequence[str], threads: int) -> str:
    peak = max(result.peak for result in results)
    notes = (
        f"{processor()}, {threads} threads, float32; FMA peak {peak:.0f} GFLOP/s as measured. "
        "Best run of all turns.",
        "Memory is the peak of the whole process for attnrun; for the others it excludes the memory "
        "of Python and the package before the model is loaded. Differences are from attnrun's "
        f"outputs, as a multiple of max(1, largest output); up to {_TOLERANCE:g} is fine.",
    )
    return "\n\n".join((notes[0], _speed(results, names), notes[1], _costs(results, names)))

# SPDX-License-Identifier: Apache-2.0
"""Measurements as data: `tools/dev bench models --record` adds one JSON file to docs/benchmarks.

docs/benchmarks/README.md describes the fields.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from tools.bench import host, report
from tools.bench.names import ATTNRUN

if TYPE_CHECKING:
    from tools.bench.compare import Result
    from tools.bench.engines import Figures

_ROOT = Path(__file__).resolve().parents[2]
FOLDER = _ROOT / "docs/benchmarks"


def commit() -> str:
    """The commit that was measured, with "-dirty" if files differ from it."""
    command = ["git", "describe", "--always", "--exclude=*", "--dirty", "--abbrev=10"]
    done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _engine(figures: Figures) -> dict[str, Any]:
    """The figures of one engine on one case."""
    return {
        "best_ms": round(figures.latency, 3),
        "median_ms": round(median(figures.latencies), 3),
        "turns_ms": [round(turn, 3) for turn in figures.latencies],
        "load_ms": round(figures.load, 1),
        "memory_mb": round(figures.memory, 1),
    }


def _case(result: Result) -> dict[str, Any]:
    """One case with all engines."""
    case = result.job.case
    assert case is not None, "a record holds the cases of tools.bench.cases only"
    limit = result.gflop / result.peak * 1e3
    return {
        "name": case.name,
        "model": case.label,
        "batch": case.batch,
        "length": case.length,
        "ratio": round(report.ratio(result), 3),
        "ratio_of_turns": round(report.ratio_of_turns(result), 3),
        "gflop": round(result.gflop, 3),
        "peak_gflops": round(result.peak, 1),
        "share_of_fma_peak": round(limit / result.engines[ATTNRUN].latency, 3),
        "engines": {name: _engine(figures) for name, figures in result.engines.items()},
        "differences": dict(result.differences),
    }


def record(results: Sequence[Result], names: Sequence[str], threads: int) -> dict[str, Any]:
    """The run as one JSON object."""
    return {
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "commit": commit(),
        "machine": asdict(host.machine()),
        "threads": threads,
        "precision": "float32",
        "versions": {name: version(name).partition("-")[0] for name in names if name != ATTNRUN},
        "cases": [_case(result) for result in results],
    }


def _paths(stem: str) -> Iterator[Path]:
    """File names for a record, those of repeated runs with a number."""
    yield FOLDER / f"{stem}.json"
    number = 2
    while True:
        yield FOLDER / f"{stem}-{number}.json"
        number += 1


def write(content: dict[str, Any]) -> Path:
    """Writes a record as a new file named by date, machine and commit."""
    machine = host.Machine(**content["machine"])
    stem = f"{content['date'][:10]}-{machine.slug}-{content['commit']}"
    file = next(path for path in _paths(stem) if not path.exists())
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(content, indent=1) + "\n")
    return file

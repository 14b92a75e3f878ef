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
from typing import Any

from tools.bench import host
from tools.bench.entrants import Entrant
from tools.bench.groups import Group, Result, best_peaks, groups
from tools.bench.names import PEERS

_ROOT = Path(__file__).resolve().parents[2]
FOLDER = _ROOT / "docs/benchmarks"


def commit() -> str:
    """The commit that was measured, with "-dirty" if files differ from it."""
    command = ["git", "describe", "--always", "--exclude=*", "--dirty", "--abbrev=10"]
    done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _rounded(value: float | None, digits: int = 3) -> float | None:
    return None if value is None else round(value, digits)


def _entrant(result: Result, entrant: Entrant) -> dict[str, Any]:
    """The figures of one entrant on one case."""
    figures, error = result.figures[entrant], result.errors[entrant]
    return {
        "engine": entrant.engine,
        "precision": entrant.group,
        "best_ms": round(figures.latency, 3),
        "median_ms": round(median(figures.latencies), 3),
        "turns_ms": [round(turn, 3) for turn in figures.latencies],
        "load_ms": round(figures.load, 1),
        "memory_mb": round(figures.memory, 1),
        "share_of_peak": _rounded(result.share(entrant), 4),
        "largest_error": error.largest,
        "rms_error": error.rms,
        "cosine_distance": error.cosine_distance,
    }


def _group(group: Group) -> dict[str, Any]:
    """attnrun and the best peer in one precision."""
    result, peaks = group.result, group.result.peaks
    ours = group.best(group.ours)
    return {
        "unit": None if peaks is None else peaks.unit(group.name),
        "peak_gflops": _rounded(None if peaks is None else peaks.of(group.name), 1),
        "share_of_peak": _rounded(result.share(ours), 4),
        "attnrun": ours.name,
        "peer": group.best(group.peers).name if group.peers else None,
        "ratio": _rounded(group.ratio),
        "ratio_of_turns": _rounded(group.ratio_of_turns),
    }


def _case(result: Result) -> dict[str, Any]:
    """One case with all entrants."""
    case = result.job.case
    assert case is not None, "a record holds the cases of tools.bench.cases only"
    return {
        "name": case.name,
        "model": case.label,
        "batch": case.batch,
        "length": case.length,
        "gflop": round(result.gflop, 3),
        "precisions": {group.name: _group(group) for group in groups(result)},
        "engines": {entrant.name: _entrant(result, entrant) for entrant in result.figures},
        "omitted": {entrant.name: reason for entrant, reason in result.omitted.items()},
    }


def record(results: Sequence[Result], threads: int) -> dict[str, Any]:
    """The run as one JSON object."""
    peaks = best_peaks(results)
    return {
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "commit": commit(),
        "machine": asdict(host.machine()),
        "peaks": None if peaks is None else asdict(peaks),
        "threads": threads,
        "versions": {name: version(name).partition("-")[0] for name in PEERS},
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

# SPDX-License-Identifier: Apache-2.0
"""Measures an engine once, in a separate process, so that it shares neither threads nor memory."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tools.bench.cases import Job
from tools.bench.names import ATTNRUN, PEERS

WARMUP = 3


@dataclass(frozen=True)
class Settings:
    attnrun: Path
    threads: int


@dataclass
class Figures:
    """The best of all turns of one engine on one job, in milliseconds and MiB."""

    latency: float = float("inf")
    # The best time of each turn.
    latencies: list[float] = field(default_factory=list)
    load: float = float("inf")
    memory: float = float("inf")

    def add(self, turn: dict[str, Any]) -> None:
        self.latencies.append(turn["latency_ms"]["min"])
        self.latency = min(self.latencies)
        self.load = min(self.load, turn["load_ms"])
        self.memory = min(self.memory, turn["peak_rss_mb"])


def peers() -> list[str]:
    """The peers that are installed."""
    return [name for name in PEERS if find_spec(name) is not None]


def _call(command: Sequence[object]) -> str:
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(words)} failed:\n{done.stderr.strip()}")
    return done.stdout


def _attnrun(settings: Settings, command: str, job: Job, *options: object) -> str:
    given = (command, job.model, "--inputs", job.inputs, "--threads", settings.threads)
    return _call([settings.attnrun, *given, *options])


def turn(engine: str, job: Job, runs: int, settings: Settings) -> dict[str, Any]:
    """Loads, warms up and runs `runs` times; reports as `attnrun bench --json`, for any engine."""
    repeats = ("--runs", runs, "--warmup", WARMUP)
    if engine == ATTNRUN:
        return json.loads(_attnrun(settings, "bench", job, *repeats, "--json"))
    module = (sys.executable, "-m", "tools.bench.peer", engine, job.model, job.inputs)
    # A package may print text before the report.
    report = _call([*module, "--threads", settings.threads, *repeats]).strip().splitlines()[-1]
    return json.loads(report)


def outputs(engine: str, job: Job, file: Path, settings: Settings) -> None:
    """Writes the engine's outputs as an .npz."""
    if engine == ATTNRUN:
        _attnrun(settings, "run", job, "--output", file)
        return
    module = (sys.executable, "-m", "tools.bench.peer", engine, job.model, job.inputs)
    _call([*module, "--threads", settings.threads, "--runs", 1, "--warmup", 0, "--output", file])


@dataclass(frozen=True)
class Work:
    """The operations of a run, in GFLOP, and the machine's peak, in GFLOP/s."""

    gflop: float
    peak: float


def work(job: Job, settings: Settings) -> Work:
    """Counts matrix products and attentions with attnrun's profile, and measures the peak now."""
    report = json.loads(_attnrun(settings, "profile", job, "--runs", 1, "--warmup", 1, "--json"))
    gflop = sum(op.get("gflops", 0) * op["ms"] * 1e-3 for op in report["ops"])
    return Work(gflop, report["peak_gflops"])

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
from tools.bench.entrants import Entrant
from tools.bench.names import PEERS

WARMUP = 3


@dataclass(frozen=True)
class Settings:
    attnrun: Path
    # The program machine_peaks.
    peaks: Path
    threads: int


class Failed(RuntimeError):
    """An engine does not run a model."""


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
        raise Failed(f"{' '.join(words)} failed:\n{done.stderr.strip()}")
    return done.stdout


def _attnrun(
    settings: Settings, command: str, model: Path, inputs: Path, *options: object
) -> str:
    given = (command, model, "--inputs", inputs, "--threads", settings.threads)
    return _call([settings.attnrun, *given, *options])


def _peer(entrant: Entrant, job: Job, settings: Settings, *options: object) -> str:
    module = (sys.executable, "-m", "tools.bench.peer", entrant.engine)
    files = (_file(entrant, job), job.inputs)
    return _call([*module, *files, "--threads", settings.threads, *entrant.options, *options])


def _file(entrant: Entrant, job: Job) -> Path:
    if not entrant.int8_file:
        return job.model
    assert job.int8 is not None, "jobs of entrants with int8 files have one"
    return job.int8


def turn(entrant: Entrant, job: Job, runs: int, settings: Settings) -> dict[str, Any]:
    """Loads, warms up and runs `runs` times; reports as `attnrun bench --json`, for any engine."""
    repeats = ("--runs", runs, "--warmup", WARMUP)
    if entrant.is_ours:
        options = (*repeats, *entrant.options, "--json")
        return json.loads(_attnrun(settings, "bench", _file(entrant, job), job.inputs, *options))
    # A package may print text before the report.
    return json.loads(_peer(entrant, job, settings, *repeats).strip().splitlines()[-1])


def outputs(entrant: Entrant, job: Job, file: Path, settings: Settings) -> None:
    """Writes the engine's outputs as an .npz."""
    if entrant.is_ours:
        options = ("--output", file, *entrant.options)
        _attnrun(settings, "run", _file(entrant, job), job.inputs, *options)
    else:
        _peer(entrant, job, settings, "--runs", 1, "--warmup", 0, "--output", file)


def reference(model: Path, inputs: Path, file: Path, settings: Settings) -> None:
    """Writes the outputs of attnrun's reference engine as an .npz."""
    _attnrun(settings, "run", model, inputs, "--engine", "reference", "--output", file)


def gflop(job: Job, settings: Settings) -> float:
    """The operations of the float32 model's products and attentions, from attnrun's profile."""
    once = ("--runs", 1, "--warmup", 1, "--json")
    report = json.loads(_attnrun(settings, "profile", job.model, job.inputs, *once))
    return sum(op.get("gflops", 0) * op["ms"] * 1e-3 for op in report["ops"])

# SPDX-License-Identifier: Apache-2.0
"""Measures a model under load, beside ONNX Runtime: tools/dev bench load [OPTIONS].

Several threads send requests of random lengths, one after another, to one session of MiniLM. Each
turn is a process of its own; engines take turns. The outputs of attnrun are compared, bit for bit,
with those of the same request alone: exit status 1 if one differs.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tools.bench.peer import Arrays, status_of

_ROOT = Path(__file__).resolve().parents[2]
# Lengths of requests.
LOW, HIGH = 8, 256


def request_of(length: int) -> Arrays:
    shape = (1, length)
    return {
        "input_ids": np.random.default_rng(length).integers(1000, 30000, shape),
        "attention_mask": np.ones(shape, np.int64),
        "token_type_ids": np.zeros(shape, np.int64),
    }


@dataclass(frozen=True)
class Turn:
    runs_per_second: float
    p50: float
    p99: float
    worst: float
    memory_mb: float
    # The most threads that the process had at once.
    threads: int
    runs: int
    differ: int


def measure(command: Sequence[object]) -> Turn:
    words = [str(word) for word in command]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=_ROOT)
    threads = 0
    while process.poll() is None:
        threads = max(threads, status_of(process.pid, "Threads"))
        time.sleep(0.1)
    assert process.stdout is not None
    report: dict[str, Any] = json.loads(process.stdout.read())
    if process.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(words)} failed")
    row = report["callers"][0]
    times = row["latency_ms"]
    return Turn(
        row["runs_per_second"], times["p50"], times["p99"], times["max"],
        report["peak_rss_mb"], threads, row["runs"], row["differ"],
    )  # fmt: skip


def show(turns: Mapping[str, Sequence[Turn]]) -> None:
    print(f"{'':12} {'runs/s':>8} {'p50 ms':>8} {'p99 ms':>8} {'max ms':>8} {'MB':>7} {'threads':>8}")
    for name, all_turns in turns.items():
        for turn in all_turns:
            print(
                f"{name:12} {turn.runs_per_second:8.1f} {turn.p50:8.1f} {turn.p99:8.1f} "
                f"{turn.worst:8.1f} {turn.memory_mb:7.1f} {turn.threads:8}"
            )
    for name, peers in turns.items():
        if name == "attnrun":
            continue
        pairs = list(zip(turns["attnrun"], peers, strict=True))
        speed = statistics.median(ours.runs_per_second / peer.runs_per_second for ours, peer in pairs)
        tail = statistics.median(peer.p99 / ours.p99 for ours, peer in pairs)
        print(f"attnrun over {name}: {speed:.2f} x its runs per second, p99 {tail:.2f} x shorter")
    runs = sum(turn.runs for turn in turns["attnrun"])
    print(f"attnrun: {_differing(turns)} of {runs} outputs differ from those of a run alone")


def _differing(turns: Mapping[str, Sequence[Turn]]) -> int:
    return sum(turn.differ for turn in turns["attnrun"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    add = parser.add_argument
    add("--model", type=Path, default=_ROOT / "build/large/minilm-l6.onnx", help="made if missing")
    add("--callers", type=int, default=16)
    add("--requests", type=int, default=200, help="of each caller; 200 by default")
    add("--threads", type=int, default=len(os.sched_getaffinity(0)), help="of a run; all CPUs by default")
    add("--turns", type=int, default=3)
    add("--attnrun", type=Path, default=_ROOT / "build/release/attnrun")
    arguments = parser.parse_args()
    if not arguments.model.exists():
        made = (sys.executable, "-m", "models.large", "--only", arguments.model.stem)
        subprocess.run((*made, "--out", arguments.model.parent), check=True, cwd=_ROOT)
    common = (arguments.model, "--threads", arguments.threads)
    common += ("--callers", arguments.callers, "--runs", arguments.requests)
    lengths = ("--stream", f"sequence={LOW}..{HIGH}")
    commands = {"attnrun": (arguments.attnrun, "bench", *common, *lengths, "--json")}
    if importlib.util.find_spec("onnxruntime") is not None:
        commands["onnxruntime"] = (sys.executable, "-m", "tools.bench.load_peer", *common)
    turns: dict[str, list[Turn]] = {name: [] for name in commands}
    for _ in range(arguments.turns):
        for name, command in commands.items():
            turns[name].append(measure(command))
    show(turns)
    return 0 if _differing(turns) == 0 else 1


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
"""Calls ONNX Runtime from several threads: python -m tools.bench.load_peer MODEL OPTIONS.

Prints the same JSON as `attnrun bench --callers N --stream sequence=LOW..HIGH --json`.
"""

from __future__ import annotations

import argparse
import json
import threading
import time
from pathlib import Path

import numpy as np

from tools.bench.load import HIGH, LOW, request_of
from tools.bench.peer import Arrays, Options, Run, memory_mb, onnxruntime


class Caller(threading.Thread):
    """Sends requests of random lengths, one after another."""

    def __init__(self, run: Run, requests: list[Arrays], expected: list[Arrays], runs: int, seed: int):
        super().__init__()
        self._run, self._requests, self._expected = run, requests, expected
        self._order = np.random.default_rng(seed).integers(len(requests), size=runs)
        self.times: list[float] = []
        self.differ = 0

    def run(self) -> None:
        for index in self._order:
            begin = time.perf_counter()
            outputs = self._run(self._requests[index])
            self.times.append((time.perf_counter() - begin) * 1e3)
            expected = self._expected[index]
            # ONNX Runtime promises no equal bits, so those that differ are only counted.
            self.differ += any(outputs[name].tobytes() != expected[name].tobytes() for name in outputs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--callers", type=int, required=True)
    parser.add_argument("--runs", type=int, required=True)
    arguments = parser.parse_args()
    __import__("onnxruntime")
    requests = [request_of(length) for length in np.linspace(LOW, HIGH, 64).astype(int)]
    before = memory_mb("VmRSS")
    run = onnxruntime(arguments.model, Options(arguments.threads))
    expected = [run(request) for request in requests]
    callers = [
        Caller(run, requests, expected, arguments.runs, seed) for seed in range(arguments.callers)
    ]
    begin = time.perf_counter()
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    elapsed = time.perf_counter() - begin
    times = [one for caller in callers for one in caller.times]
    row = {
        "callers": arguments.callers,
        "runs_per_second": len(times) / elapsed,
        "runs": len(times),
        "differ": sum(caller.differ for caller in callers),
        "latency_ms": {
            "p50": np.percentile(times, 50),
            "p99": np.percentile(times, 99),
            "max": max(times),
        },
    }
    # Excludes the memory of Python and the package itself.
    print(json.dumps({"callers": [row], "peak_rss_mb": memory_mb("VmHWM") - before}))


if __name__ == "__main__":
    main()

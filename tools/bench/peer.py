# SPDX-License-Identifier: Apache-2.0
"""Measures another engine: python -m tools.bench.peer ENGINE MODEL INPUTS.npz.

Prints the same JSON as `attnrun bench --json`.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

Arrays = Mapping[str, np.ndarray]
Run = Callable[[Arrays], Arrays]


@dataclass(frozen=True)
class Options:
    """`precision` is the precision that OpenVINO must run in, `expect` the one that it must choose;
    ONNX Runtime has float32 alone."""

    threads: int
    precision: str | None = None
    expect: str | None = None


def onnxruntime(model: Path, given: Options) -> Run:
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = given.threads
    options.inter_op_num_threads = 1
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return lambda inputs: dict(zip(names, session.run(names, inputs), strict=True))


def openvino(model: Path, given: Options) -> Run:
    import openvino as ov

    settings = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": str(given.threads)}
    if given.precision is not None:
        settings["INFERENCE_PRECISION_HINT"] = given.precision
    compiled = ov.Core().compile_model(model, "CPU", settings)
    chosen = compiled.get_property("INFERENCE_PRECISION_HINT").to_string()
    if given.expect not in (None, chosen):
        raise SystemExit(f"OpenVINO runs in {chosen} by default here, not {given.expect}")
    request = compiled.create_infer_request()

    def run(inputs: Arrays) -> Arrays:
        results = request.infer(dict(inputs), share_inputs=True, share_outputs=True)
        return {port.get_any_name(): value for port, value in results.items()}

    return run


ENGINES = {"onnxruntime": onnxruntime, "openvino": openvino}


def status_of(process: int | str, key: str) -> int:
    """The number in a line of /proc/PROCESS/status; 0 if there is none."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith(f"{key}:"):
            return int(line.split()[1])
    return 0


def memory_mb(key: str) -> float:
    """A line of /proc/self/status, in MiB; getrusage would include the parent process."""
    return status_of("self", key) / 1024


def timed(call: Callable[[], object]) -> float:
    """The time of a call, in milliseconds."""
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1e3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("engine", choices=ENGINES)
    parser.add_argument("model", type=Path)
    parser.add_argument("inputs", type=Path)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--runs", type=int, required=True)
    parser.add_argument("--warmup", type=int, default=3)
    parser.add_argument("--precision", help="OpenVINO's precision; its own choice by default")
    parser.add_argument("--expect", help="fail unless OpenVINO runs in this precision")
    parser.add_argument("--output", type=Path, help="an .npz for the outputs of the last run")
    arguments = parser.parse_args()
    __import__(arguments.engine)
    inputs = dict(np.load(arguments.inputs))
    options = Options(arguments.threads, arguments.precision, arguments.expect)
    before = memory_mb("VmRSS")
    start = time.perf_counter()
    run = ENGINES[arguments.engine](arguments.model, options)
    load_ms = (time.perf_counter() - start) * 1e3
    for _ in range(arguments.warmup):
        run(inputs)
    times = [timed(lambda: run(inputs)) for _ in range(arguments.runs)]
    # Excludes the memory of Python and the package itself.
    peak = memory_mb("VmHWM") - before
    if arguments.output is not None:
        np.savez(arguments.output, allow_pickle=False, **run(inputs))
    percents = {"min": 0, "p50": 50, "p90": 90, "p99": 99}
    percentiles = {name: np.percentile(times, percent) for name, percent in percents.items()}
    print(json.dumps({"latency_ms": percentiles, "load_ms": load_ms, "peak_rss_mb": peak}))


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""Compares whole models with other engines from PyPI: tools/dev bench models [OPTIONS].

All engines use float32, the same threads and the same inputs. They take turns; each turn is a
process that loads the model, warms up and runs it. The report has the best of all turns and the
median of the turns' ratios, as Markdown. --record also writes the figures to docs/benchmarks, from
which `tools/dev bench table` makes the table in README.md. Exit status 1 means that outputs differ
by more than 1e-4 x max(1, largest output).
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tools.bench import engines, record, report
from tools.bench.cases import CASES, Case, Job
from tools.bench.engines import Figures, Settings
from tools.bench.names import ATTNRUN, PEERS

_ROOT = Path(__file__).resolve().parents[2]
_MOST_RUNS = 200


@dataclass
class Result:
    job: Job
    engines: dict[str, Figures] = field(default_factory=dict)
    gflop: float = 0
    peak: float = 0
    # Largest difference from attnrun's outputs, as a multiple of max(1, largest output).
    differences: dict[str, float] = field(default_factory=dict)


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def _difference(ours: Path, theirs: Path) -> float:
    with np.load(ours) as a, np.load(theirs) as b:
        return max(
            float(np.abs(a[name] - b[name]).max() / max(1.0, np.abs(b[name]).max()))
            for name in b.files
            if b[name].size > 0
        )


def _compare_outputs(result: Result, names: Sequence[str], settings: Settings) -> None:
    with tempfile.TemporaryDirectory() as folder:
        files = {name: Path(folder) / f"{name}.npz" for name in names}
        for name, file in files.items():
            engines.outputs(name, result.job, file, settings)
        for name in names:
            if name != ATTNRUN:
                result.differences[name] = _difference(files[ATTNRUN], files[name])


def measure(
    job: Job, names: Sequence[str], turns: int, seconds: float, settings: Settings
) -> Result:
    result = Result(job, {name: Figures() for name in names})
    _compare_outputs(result, names, settings)
    first = engines.turn(ATTNRUN, job, 2, settings)["latency_ms"]["min"]
    runs = int(np.clip(seconds * 1e3 / first, 3, _MOST_RUNS))
    for number in range(turns):
        for name in names:
            _progress(f"{job.title}: turn {number + 1} of {turns}, {name}, {runs} runs")
            result.engines[name].add(engines.turn(name, job, runs, settings))
        work = engines.work(job, settings)
        result.gflop = work.gflop
        result.peak = max(result.peak, work.peak)
    _progress("")
    return result


def _jobs(arguments: argparse.Namespace, folder: Path) -> list[Job]:
    if arguments.model is not None:
        if arguments.inputs is None:
            raise SystemExit("--model needs --inputs FILE.npz")
        return [Job(arguments.model.stem, arguments.model, arguments.inputs)]
    return [_made(case, arguments.models, folder) for case in arguments.only or CASES]


def _made(case: Case, models: Path, folder: Path) -> Job:
    file = models / f"{case.model}.onnx"
    if not file.exists():
        _progress(f"making {file}")
        # Imported here because PyTorch is slow to import.
        from models import large

        large.make(case.model, models)
    inputs = folder / f"{case.name}.npz"
    np.savez(inputs, allow_pickle=False, **case.inputs())
    return Job(case.title, file, inputs, case)


def _case(name: str) -> Case:
    found = [case for case in CASES if case.name == name]
    if not found:
        names = ", ".join(case.name for case in CASES)
        raise argparse.ArgumentTypeError(f"no case '{name}': {names}")
    return found[0]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    add = parser.add_argument
    add("--threads", type=int, default=len(os.sched_getaffinity(0)), help="per run; all CPUs by default")
    add("--turns", type=int, default=7, help="turns per engine; 7 by default")
    add("--seconds", type=float, default=1.5, help="per turn, approximately; 1.5 by default")
    only = "one or more cases, such as minilm-l6-b1-l128"
    add("--only", nargs="*", type=_case, metavar="CASE", help=only)
    add("--engines", nargs="*", choices=PEERS, help="engines to compare with; all installed ones by default")
    add("--models", type=Path, default=_ROOT / "build/large", help="folder of the models, which are made if missing")
    add("--model", type=Path, help="measure this model on --inputs instead")
    add("--inputs", type=Path, help="an .npz, one array per input")
    add("--attnrun", type=Path, default=_ROOT / "build/release/attnrun")
    add("--record", action="store_true", help="write the figures to docs/benchmarks")
    arguments = parser.parse_args()
    chosen = (arguments.only, arguments.model, arguments.engines)
    if arguments.record and any(choice is not None for choice in chosen):
        parser.error("--record needs all cases and engines: omit --only, --model and --engines")
    if arguments.record and engines.peers() != list(PEERS):
        parser.error(f"--record needs {' and '.join(PEERS.values())}")
    return arguments


def main() -> int:
    arguments = _arguments()
    settings = Settings(arguments.attnrun, arguments.threads)
    names = [ATTNRUN, *(engines.peers() if arguments.engines is None else arguments.engines)]
    with tempfile.TemporaryDirectory() as folder:
        jobs = _jobs(arguments, Path(folder))
        results = [
            measure(job, names, arguments.turns, arguments.seconds, settings) for job in jobs
        ]
    print(report.markdown(results, names, arguments.threads))
    if arguments.record:
        file = record.write(record.record(results, names, arguments.threads))
        print(f"\nRecorded in {file}.")
    return 1 if any(report.differs(result) for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())

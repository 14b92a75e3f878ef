# SPDX-License-Identifier: Apache-2.0
"""Compares whole models with other engines from PyPI: tools/dev bench models [OPTIONS].

tools.bench.entrants lists engines and precisions. All have the same threads and the same inputs,
and take turns; each turn is a process that loads the model, warms up and runs it. The report has
the best of all turns and the median of the turns' ratios by precision, and the errors against
float64, as Markdown. --record also writes the figures to docs/benchmarks, from which `tools/dev
bench table` makes the table in README.md. Exit status 1 means that attnrun does not run a model, or
that the error of an engine is larger than the TOLERANCES of tools.bench.errors.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tools.bench import engines, errors, jobs, peaks, record, report
from tools.bench.cases import CASES, Case, Job
from tools.bench.engines import Failed, Figures, Settings
from tools.bench.entrants import ENTRANTS, GROUPS, Entrant
from tools.bench.groups import Result
from tools.bench.names import PEERS
from tools.bench.progress import progress

_ROOT = Path(__file__).resolve().parents[2]
_MOST_RUNS = 200


def _check(result: Result, entrants: Sequence[Entrant], settings: Settings) -> list[Entrant]:
    """Measures the errors; returns the entrants that run the model."""
    able = []
    with tempfile.TemporaryDirectory() as folder:
        for entrant in entrants:
            progress(f"{result.job.title}: outputs of {entrant.name}")
            file = Path(folder) / f"{entrant.name}.npz"
            try:
                engines.outputs(entrant, result.job, file, settings)
            except Failed as failure:
                result.omitted[entrant] = str(failure).splitlines()[-1]
                continue
            result.errors[entrant] = errors.between(result.job.exact, file)
            able.append(entrant)
    return able


def _runs(entrants: Sequence[Entrant], job: Job, seconds: float, settings: Settings) -> dict[str, int]:
    """Runs in a turn, by group: as many as the group's first entrant, attnrun, has time for."""
    runs: dict[str, int] = {}
    for entrant in entrants:
        if entrant.group not in runs:
            first = engines.turn(entrant, job, 2, settings)["latency_ms"]["min"]
            runs[entrant.group] = int(np.clip(seconds * 1e3 / first, 3, _MOST_RUNS))
    return runs


def measure(
    job: Job, entrants: Sequence[Entrant], turns: int, seconds: float, settings: Settings
) -> Result:
    result = Result(job)
    able = _check(result, entrants, settings)
    result.figures = {entrant: Figures() for entrant in able}
    result.gflop = engines.gflop(job, settings)
    runs = _runs(able, job, seconds, settings)
    for number in range(turns):
        for entrant in able:
            progress(f"{job.title}: turn {number + 1} of {turns}, {entrant.name}")
            turn = engines.turn(entrant, job, runs[entrant.group], settings)
            result.figures[entrant].add(turn)
        measured = peaks.measure(settings.peaks, settings.threads)
        result.peaks = measured if result.peaks is None else result.peaks.best(measured)
    progress("")
    return result


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
    add("--precisions", nargs="+", choices=GROUPS, default=GROUPS, help="all that the processor has by default")
    add("--models", type=Path, default=_ROOT / "build/large", help="folder of the models, which are made if missing")
    add("--model", type=Path, help="measure this model on --inputs instead")
    add("--inputs", type=Path, help="an .npz, one array per input")
    add("--attnrun", type=Path, default=_ROOT / "build/release/attnrun")
    add("--record", action="store_true", help="write the figures to docs/benchmarks")
    arguments = parser.parse_args()
    chosen = (arguments.only, arguments.model, arguments.engines)
    if arguments.record and (any(c is not None for c in chosen) or arguments.precisions != GROUPS):
        parser.error("--record needs everything: omit --only, --model, --engines and --precisions")
    if arguments.record and engines.peers() != list(PEERS):
        parser.error(f"--record needs {' and '.join(PEERS.values())}")
    if arguments.model is not None and arguments.inputs is None:
        parser.error("--model needs --inputs FILE.npz")
    return arguments


def _entrants(arguments: argparse.Namespace, settings: Settings) -> list[Entrant]:
    """The entrants that are asked for. Without a unit for bf16 nobody gains by it."""
    peers = engines.peers() if arguments.engines is None else arguments.engines
    groups = set(arguments.precisions)
    if peaks.measure(settings.peaks, settings.threads).unit("bf16") is None:
        groups -= {"bf16"}
    return [e for e in ENTRANTS if e.group in groups and (e.is_ours or e.engine in peers)]


def _jobs(arguments: argparse.Namespace, workshop: jobs.Workshop) -> list[Job]:
    if arguments.model is not None:
        return [workshop.of_model(arguments.model, arguments.inputs)]
    return [workshop.of_case(case) for case in arguments.only or CASES]


def main() -> int:
    arguments = _arguments()
    program = arguments.attnrun
    settings = Settings(program, program.with_name("machine_peaks"), arguments.threads)
    entrants = _entrants(arguments, settings)
    with tempfile.TemporaryDirectory() as folder:
        int8 = any(entrant.int8_file for entrant in entrants)
        workshop = jobs.Workshop(arguments.models, Path(folder), settings, int8)
        results = [
            measure(job, entrants, arguments.turns, arguments.seconds, settings)
            for job in _jobs(arguments, workshop)
        ]
    print(report.markdown(results, arguments.threads))
    if arguments.record:
        file = record.write(record.record(results, arguments.threads))
        print(f"\nRecorded in {file}.")
    return 0 if all(report.is_fine(result) for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())

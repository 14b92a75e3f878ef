# SPDX-License-Identifier: Apache-2.0
"""Reports the comparison of whole models as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import version

from tools.bench.entrants import GROUPS, Entrant
from tools.bench.errors import TOLERANCES
from tools.bench.groups import Group, Result, best_peaks, groups, mean
from tools.bench.host import processor
from tools.bench.names import PEERS

_RATIOS = ("best peer / attnrun", "median of turns")
_NOTE = (
    "Errors are those of the worst output against outputs in float64: the largest difference as a "
    "multiple of max(1, largest element), the root of the mean square as a share of the outputs', "
    "and 1 less the cosine. Memory is the peak of the whole process for attnrun; for the others it "
    "excludes the memory of Python and the package before the model is loaded. Shares of peak count "
    "the products of the float32 model, in whatever precision an engine computes them."
)


def is_fine(result: Result) -> bool:
    """True if all entrants are as precise as their group should be, and attnrun ran in all."""
    errors = result.errors.items()
    return not any(entrant.is_ours for entrant in result.omitted) and all(
        error.is_fine(entrant.group) for entrant, error in errors
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], texts: int) -> str:
    """`texts` columns of text, the others of numbers."""
    rule = ["---" if i < texts else "---:" for i in range(len(head))]
    return "\n".join(f"| {' | '.join(line)} |" for line in [head, rule, *rows])


def _number(value: float | None, form: str = ".2f", unit: str = "") -> str:
    return "" if value is None else f"{value:{form}}{unit}"


def _percent(share: float | None) -> str:
    return _number(None if share is None else 100 * share, ".0f", " %")


def _standing(group: Group) -> list[str]:
    """A row: attnrun and the best peer in one group."""
    result, ours = group.result, group.best(group.ours)
    row = [result.job.title, group.name, _number(result.limit(group.name), ".2f", " ms")]
    row += [f"{result.figures[ours].latency:.2f} ms", _percent(result.share(ours))]
    if not group.peers:
        return [*row, "", "", "", ""]
    peer = group.best(group.peers)
    row += [peer.title, f"{result.figures[peer].latency:.2f} ms"]
    return [*row, _number(group.ratio), _number(group.ratio_of_turns)]


def _standings(results: Sequence[Result]) -> str:
    rows = []
    for name in GROUPS:
        found = [group for result in results for group in groups(result) if group.name == name]
        rows += [_standing(group) for group in found]
        ratios: tuple[Callable[[Group], float | None], ...] = (
            lambda group: group.ratio,
            lambda group: group.ratio_of_turns,
        )
        means = [mean(map(ratio, found)) for ratio in ratios]
        if means[0] is not None:
            rows.append(["geometric mean", name, *[""] * 5, *map(_number, means)])
    head = ("model", "precision", "limit at peak", "attnrun", "share of peak", "best peer", "its time")
    return _table((*head, *_RATIOS), rows, 2)


def _entrant(result: Result, entrant: Entrant) -> list[str]:
    """A row: all figures of one entrant."""
    figures, error = result.figures[entrant], result.errors[entrant]
    rate = result.gflop / figures.latency * 1e3
    row = [result.job.title, entrant.title, entrant.group, f"{figures.latency:.2f} ms"]
    row += [f"{rate:.0f}", _percent(result.share(entrant))]
    row += [f"{figures.load:.0f} ms", f"{figures.memory:.0f} MB"]
    return [*row, *(f"{e:.1e}" for e in (error.largest, error.rms, error.cosine_distance))]


def _entrants(results: Sequence[Result]) -> str:
    head = ("model", "engine", "precision", "time", "GFLOP/s", "share of peak", "load", "memory")
    rows = [_entrant(result, entrant) for result in results for entrant in result.figures]
    return _table((*head, "largest error", "rms error", "1 - cosine"), rows, 3)


def _findings(results: Sequence[Result]) -> list[str]:
    """Omissions, and errors that are too large."""
    lines = []
    for result in results:
        for entrant, reason in result.omitted.items():
            lines.append(f"- {result.job.title}: without {entrant.title}: {reason}")
        for entrant, error in result.errors.items():
            if not error.is_fine(entrant.group):
                limit = TOLERANCES[entrant.group]
                found = f"largest error {error.largest:.1e}, more than {limit:g}"
                lines.append(f"- {result.job.title}: {entrant.title} differs: {found}")
    return ["\n".join(lines)] if lines else []


def markdown(results: Sequence[Result], threads: int) -> str:
    engines = {entrant.engine for result in results for entrant in result.figures}
    versions = [f"{PEERS[name]} {version(name).partition('-')[0]}" for name in PEERS if name in engines]
    peaks = best_peaks(results)
    beside = f", beside {' and '.join(versions)}" if versions else ""
    measured = "" if peaks is None else f" Measured peaks: {peaks.text}."
    note = f"{processor()}, {threads} threads{beside}. Best run of all turns.{measured}"
    return "\n\n".join([note, _standings(results), _NOTE, _entrants(results), *_findings(results)])

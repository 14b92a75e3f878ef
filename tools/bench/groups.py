# SPDX-License-Identifier: Apache-2.0
"""Results of a job, and how attnrun stands beside its peers in each group of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from statistics import median

from tools.bench.cases import Job
from tools.bench.engines import Figures
from tools.bench.entrants import GROUPS, Entrant
from tools.bench.errors import Error
from tools.bench.peaks import Peaks


@dataclass
class Result:
    """A job on all entrants that run it."""

    job: Job
    figures: dict[Entrant, Figures] = field(default_factory=dict)
    errors: dict[Entrant, Error] = field(default_factory=dict)
    # The reasons why the others do not.
    omitted: dict[Entrant, str] = field(default_factory=dict)
    gflop: float = 0
    peaks: Peaks | None = None

    def limit(self, group: str) -> float | None:
        """The time in milliseconds if all products ran at the peak of the group's unit."""
        peak = None if self.peaks is None else self.peaks.of(group)
        return None if peak is None else self.gflop / peak * 1e3

    def share(self, entrant: Entrant) -> float | None:
        """The part of the peak that the best run reaches."""
        limit = self.limit(entrant.group)
        return None if limit is None else limit / self.figures[entrant].latency


@dataclass(frozen=True)
class Group:
    """The entrants of one group that run a job."""

    name: str
    result: Result
    ours: tuple[Entrant, ...]
    peers: tuple[Entrant, ...]

    def best(self, entrants: Sequence[Entrant]) -> Entrant:
        return min(entrants, key=lambda entrant: self.result.figures[entrant].latency)

    @property
    def ratio(self) -> float | None:
        """The best peer's time over attnrun's."""
        if not self.peers:
            return None
        ours, theirs = (self.best(entrants) for entrants in (self.ours, self.peers))
        return self.result.figures[theirs].latency / self.result.figures[ours].latency

    @property
    def ratio_of_turns(self) -> float | None:
        """The median of that ratio over turns; a slow minute affects all engines of a turn alike."""
        if not self.peers:
            return None
        ours, theirs = (self._best_of_turns(entrants) for entrants in (self.ours, self.peers))
        return median(peer / our for our, peer in zip(ours, theirs))

    def _best_of_turns(self, entrants: Sequence[Entrant]) -> list[float]:
        return [min(turn) for turn in zip(*(self.result.figures[e].latencies for e in entrants))]


def groups(result: Result) -> list[Group]:
    """The groups in which attnrun was measured."""
    found = []
    for name in GROUPS:
        members = [entrant for entrant in result.figures if entrant.group == name]
        ours = tuple(entrant for entrant in members if entrant.is_ours and entrant.competes)
        peers = tuple(entrant for entrant in members if not entrant.is_ours)
        if ours:
            found.append(Group(name, result, ours, peers))
    return found


def best_peaks(results: Sequence[Result]) -> Peaks | None:
    """The highest rates beside all results."""
    found = [result.peaks for result in results if result.peaks is not None]
    return reduce(Peaks.best, found) if found else None


def mean(numbers: Iterable[float | None]) -> float | None:
    """The geometric mean of those that are known."""
    logarithms = [math.log(number) for number in numbers if number is not None]
    return math.exp(sum(logarithms) / len(logarithms)) if logarithms else None

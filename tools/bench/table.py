# SPDX-License-Identifier: Apache-2.0
"""Writes README.md's table of measurements from the newest record: tools/dev bench table [--check].

The table stands between <!-- benchmarks --> and <!-- /benchmarks -->. Needs Python alone.
"""

from __future__ import annotations

import argparse
import difflib
import json
import re
import sys
import textwrap
from collections.abc import Iterable
from math import prod
from pathlib import Path
from typing import Any

from tools.bench.names import ATTNRUN, PEERS

_ROOT = Path(__file__).resolve().parents[2]
_MARKED = re.compile(r"(<!-- benchmarks -->\n).*?(<!-- /benchmarks -->)", re.DOTALL)
_SKIPPED = 77
_ENGINES = (ATTNRUN, *PEERS)
_RATIOS = ("ratio", "ratio_of_turns")
_FIGURES = ["ratio", "median", "peak", "load", "memory"]
_HEAD = ["model", ATTNRUN, *PEERS.values(), *_FIGURES]

Record = dict[str, Any]


def newest(folder: Path) -> tuple[Path, Record]:
    """The latest record and its file. Dates compare as text, since all are in UTC."""
    records = {file: json.loads(file.read_text()) for file in folder.glob("*.json")}
    if not records:
        raise SystemExit(f"no record in {folder}: tools/dev bench models --record makes one")
    file = max(records, key=lambda path: (records[path]["date"], path.name))
    return file, records[file]


def _size(case: Record) -> str:
    """The model with the extents of its inputs."""
    extents = f"{case['batch']} x {case['length']}"
    return f"{case['model']}, {extents if case['length'] is not None else case['batch']}"


def _against_best(case: Record, figure: str) -> str:
    """A figure of attnrun and the lowest figure of its peers."""
    ours, *theirs = (case["engines"][name][figure] for name in _ENGINES)
    return f"{ours:.0f} / {min(theirs):.0f}"


def _row(case: Record) -> list[str]:
    """The cells of one case."""
    times = [f"{case['engines'][name]['best_ms']:.1f}" for name in _ENGINES]
    ratios = [f"{case[name]:.2f}" for name in _RATIOS]
    share = f"{100 * case['share_of_fma_peak']:.0f} %"
    costs = [_against_best(case, figure) for figure in ("load_ms", "memory_mb")]
    return [_size(case), *times, *ratios, share, *costs]


def _mean(numbers: Iterable[float]) -> str:
    """The geometric mean."""
    factors = list(numbers)
    return f"{prod(factors) ** (1 / len(factors)):.2f}"


def _lines(record: Record) -> list[str]:
    """The table in Markdown; the first row is the head."""
    cases = record["cases"]
    means = [_mean(case[name] for case in cases) for name in _RATIOS]
    rows = [
        _HEAD,
        ["---", *["---:"] * (len(_HEAD) - 1)],
        *(_row(case) for case in cases),
        ["geometric mean", *[""] * len(_ENGINES), *means, "", "", ""],
    ]
    return ["| " + " | ".join(cells) + " |" for cells in rows]


def block(file: Path, record: Record) -> str:
    """The text between the markers."""
    versions = " and ".join(f"{title} {record['versions'][name]}" for name, title in PEERS.items())
    processor = record["machine"]["processor"]
    caption = (
        f"{record['precision']}, {record['threads']} threads of one {processor}, "
        f"{record['date'][:10]}, beside {versions}, in turns on the same cores and inputs. Models "
        "are given with batch x length, times are the best of all turns, in ms. `ratio` is the "
        "best peer's time over attnrun's, `median` the median of the same ratio within each turn, "
        "`peak` the share of the machine's FMA peak that attnrun reaches. `load` (ms) and "
        "`memory` (MB) give attnrun / best peer. All figures:"
    )
    link = f"[{file.name}](docs/benchmarks/{file.name})"
    return "\n".join([textwrap.fill(caption, 100), f"{link}.", "", *_lines(record), ""])


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--check", action="store_true", help="only tell whether the table is right")
    parser.add_argument("--readme", type=Path, default=_ROOT / "README.md")
    parser.add_argument("--records", type=Path, default=_ROOT / "docs/benchmarks")
    return parser.parse_args()


def main() -> int:
    """Exit status 0: the table is right, or written; 1: it is not; 77: README.md has no markers."""
    arguments = _arguments()
    text = arguments.readme.read_text()
    if not _MARKED.search(text):
        print(f"{arguments.readme} has no markers <!-- benchmarks --> and <!-- /benchmarks -->")
        return _SKIPPED if arguments.check else 1
    table = block(*newest(arguments.records))
    made = _MARKED.sub(lambda marks: f"{marks[1]}{table}{marks[2]}", text)
    if made != text and arguments.check:
        sys.stdout.writelines(difflib.unified_diff(text.splitlines(True), made.splitlines(True)))
        print("README.md's table is not the newest record's: tools/dev bench table writes it")
        return 1
    if not arguments.check:
        arguments.readme.write_text(made)
    return 0


if __name__ == "__main__":
    sys.exit(main())

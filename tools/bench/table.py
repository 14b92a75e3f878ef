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
_FIGURES = ["ratio", "peak", "load", "memory"]
# The precisions that a record may have beside float32; each that it has gets a column.
_FURTHER = ("bf16", "int8")

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


def _precisions(case: Record) -> Record:
    """The figures by precision; the first record has those of float32 in the case itself."""
    if "precisions" in case:
        return case["precisions"]
    share = case["share_of_fma_peak"]
    return {"float32": {name: case[name] for name in _RATIOS} | {"share_of_peak": share}}


def _further(record: Record) -> list[str]:
    """The precisions beside float32 in which attnrun and a peer were measured."""
    found = [_precisions(case) for case in record["cases"]]
    return [name for name in _FURTHER if any(_ratio(groups, name) is not None for groups in found)]


def _ratio(groups: Record, precision: str) -> float | None:
    return groups.get(precision, {}).get("ratio")


def _beside(case: Record, precision: str) -> str:
    """The best peer's time over attnrun's."""
    ratio = _ratio(_precisions(case), precision)
    return "" if ratio is None else f"{ratio:.2f}"


def _row(case: Record, further: Iterable[str]) -> list[str]:
    """The cells of one case."""
    figures = _precisions(case)["float32"]
    times = [f"{case['engines'][name]['best_ms']:.1f}" for name in _ENGINES]
    ratio = f"{figures['ratio']:.2f}"
    share = f"{100 * figures['share_of_peak']:.0f} %"
    costs = [_against_best(case, figure) for figure in ("load_ms", "memory_mb")]
    lower = [_beside(case, precision) for precision in further]
    return [_size(case), *times, ratio, share, *costs, *lower]


def _mean(numbers: Iterable[float | None]) -> str:
    """The geometric mean of those that are known."""
    factors = [number for number in numbers if number is not None]
    return f"{prod(factors) ** (1 / len(factors)):.2f}"


def _lines(record: Record) -> list[str]:
    """The table in Markdown; the first row is the head."""
    cases, further = record["cases"], _further(record)
    found = [_precisions(case) for case in cases]
    mean = _mean(groups["float32"]["ratio"] for groups in found)
    lower = [_mean(_ratio(groups, precision) for groups in found) for precision in further]
    head = ["model", ATTNRUN, *PEERS.values(), *_FIGURES, *further]
    rows = [
        head,
        ["---", *["---:"] * (len(head) - 1)],
        *(_row(case, further) for case in cases),
        ["geometric mean", *[""] * len(_ENGINES), mean, "", "", "", *lower],
    ]
    return ["| " + " | ".join(cells) + " |" for cells in rows]


_BESIDE = {
    "bf16": "`bf16` (attnrun with `--precision bf16`, OpenVINO by default)",
    "int8": "`int8` (all on files of `quantize_dynamic`)",
}


def _caption(record: Record) -> str:
    versions = " and ".join(f"{title} {record['versions'][name]}" for name, title in PEERS.items())
    caption = (
        f"float32, {record['threads']} threads of one {record['machine']['processor']}, "
        f"{record['date'][:10]}, beside {versions}, in turns on the same cores and inputs. Models "
        "are given with batch x length, times are the best of all turns, in ms. `ratio` is the "
        "best peer's time over attnrun's, `peak` the share of the machine's FMA peak that attnrun "
        "reaches (AMX goes beyond it). `load` (ms) and "
        "`memory` (MB) give attnrun / best peer. "
    )
    if further := _further(record):
        columns = " and ".join(_BESIDE[precision] for precision in further)
        caption += f"{columns}: the ratio in that precision. "
    return f"{caption}All figures:"


def block(file: Path, record: Record) -> str:
    """The text between the markers."""
    link = f"[the record](docs/benchmarks/{file.name})"
    return "\n".join([textwrap.fill(_caption(record), 100), f"{link}.", "", *_lines(record), ""])


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

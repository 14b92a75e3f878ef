# SPDX-License-Identifier: Apache-2.0
"""Packs a generated folder into models/SET.tar.xz: python -m models.archive --from DIR --set SET.

SET is tiny (made by models.tiny), zoo (models.zoo) or quantized (models.tiny.quantized).
"""

from __future__ import annotations

import argparse
import json
import lzma
import tarfile
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent

# The sets, and the page of each that lists what could not be exported.
_TABLES = {"tiny": "tiny/not_exported.md", "zoo": "zoo/not_exported.md", "quantized": None}

# The dictionary spans the whole set, so weights that recur in several exports are stored once.
# Positions matter modulo 4: the payload is mostly float32.
_FILTERS = [
    {
        "id": lzma.FILTER_LZMA2,
        "preset": 9 | lzma.PRESET_EXTREME,
        "dict_size": 1 << 26,
        "lc": 3,
        "lp": 0,
        "pb": 2,
    }
]


def _files(manifest: dict[str, Any]) -> Iterator[str]:
    """Every listed file, the exports of one model next to each other."""
    yield "manifest.json"
    for model in manifest["models"].values():
        for case in model["cases"]:
            yield from (case["inputs"], case["expected"])
        for export in model["exports"]:
            yield export["file"]


def pack(source: Path, target: Path) -> None:
    """Writes the files that the manifest names, below a folder with the archive's name. Equal
    content gives equal bytes."""
    folder = target.name.partition(".")[0]
    manifest = json.loads((source / "manifest.json").read_text())
    with (
        lzma.open(target, "wb", filters=_FILTERS) as stream,
        tarfile.open(fileobj=stream, mode="w", format=tarfile.USTAR_FORMAT) as archive,
    ):
        for name in _files(manifest):
            entry = tarfile.TarInfo(f"{folder}/{name}")
            entry.size = (source / name).stat().st_size
            with (source / name).open("rb") as content:
                archive.addfile(entry, content)


def _rows(reasons: Mapping[tuple[str, ...], list[str]]) -> list[str]:
    return [f"| {' | '.join(key)} | {', '.join(which)} |" for key, which in reasons.items()]


def write_table(manifest: dict[str, Any], target: Path) -> None:
    """Writes the combinations that no exporter could write, and the files that ONNX Runtime
    refuses."""
    missing, refused = defaultdict(list), defaultdict(list)
    for name, model in manifest["models"].items():
        for row in model["not_exported"]:
            missing[name, row["attention"], row["error"]].append(row["exporter"])
        for row in model["exports"]:
            said = row["checked"].get("onnxruntime", "ok")
            if said != "ok":
                refused[(said,)].append(row["file"].removesuffix(".onnx"))
    lines = [
        "# Not exported",
        "",
        "| model | attention | reason | exporters |",
        "|---|---|---|---|",
        *_rows(missing),
        "",
        "# Exported, right by ONNX's reference implementation, but refused by ONNX Runtime",
        "",
        "| reason | files |",
        "|---|---|",
        *_rows(refused),
    ]
    target.write_text("\n".join(lines) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--from", dest="source", type=Path, required=True)
    parser.add_argument("--set", dest="name", choices=_TABLES, default="tiny")
    arguments = parser.parse_args()
    pack(arguments.source, HERE / f"{arguments.name}.tar.xz")
    manifest = json.loads((arguments.source / "manifest.json").read_text())
    table = _TABLES[arguments.name]
    if table is not None:
        write_table(manifest, HERE / table)


if __name__ == "__main__":
    main()

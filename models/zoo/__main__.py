# SPDX-License-Identifier: Apache-2.0
"""Exports the zoo of small attention modules: python -m models.zoo --out DIR [--only NAME ...]."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from models.shared import check
from models.shared.cases import CASES, cast
from models.shared.command import arguments
from models.shared.exporters import DISAGREE, EXPORTERS, Exporter, checked_export
from models.shared.manifest import save_cases, update_manifest
from models.shared.weights import redraw
from models.tf import spellings
from models.zoo import (
    biases,
    blocks,
    crossed,
    foldings,
    frames,
    heads,
    joined,
    layouts,
    library,
    lookalikes,
    masks,
    packed,
    positions,
    products,
    projections,
    repositories,
    scores,
    softmax,
    traps,
)
from models.zoo.entry import Entry, Traced
from models.zoo.inputs import INPUTS, make_inputs

ENTRIES: tuple[Entry, ...] = (
    *projections.ENTRIES,
    *packed.ENTRIES,
    *scores.ENTRIES,
    *masks.ENTRIES,
    *heads.ENTRIES,
    *crossed.ENTRIES,
    *positions.ENTRIES,
    *biases.ENTRIES,
    *library.ENTRIES,
    *blocks.ENTRIES,
    *lookalikes.ENTRIES,
    *traps.ENTRIES,
    *softmax.ENTRIES,
    *repositories.ENTRIES,
    *layouts.ENTRIES,
    *foldings.ENTRIES,
    *products.ENTRIES,
    *frames.ENTRIES,
    *joined.ENTRIES,
)

_LOG = logging.getLogger("models")


def _module(entry: Entry, dtype: torch.dtype) -> Traced:
    """All modules draw from one seed: equal weights are stored once in the archive."""
    module = entry.build()
    redraw(module, "zoo", entry.gain)
    return Traced(module).to(dtype).eval()


def _run(module: Traced, outputs: Sequence[str], inputs: Mapping[str, Tensor]) -> check.Arrays:
    with torch.no_grad():
        results = module(*inputs.values())
    return {n: t.numpy() for n, t in zip(outputs, results, strict=True)}


def _expected(entry: Entry, feeds: Sequence[Mapping[str, Tensor]]) -> list[check.Arrays]:
    """PyTorch's outputs. Raises unless exact (float64) arithmetic confirms them."""
    module, exact = _module(entry, entry.dtype), _module(entry, torch.float64)
    results = [_run(module, entry.outputs, feed) for feed in feeds]
    for case, (feed, result) in enumerate(zip(feeds, results, strict=True)):
        confirmed = _run(exact, entry.outputs, cast(feed, torch.float64))
        check.require_agreement(f"{entry.name} case {case}", entry.dtype_name, result, confirmed)
    return results


def _export(
    entry: Entry,
    exporter: Exporter,
    feeds: Sequence[Mapping[str, Tensor]],
    expected: Sequence[check.Arrays],
    path: Path,
) -> dict[str, Any]:
    """Exports and checks the module. Returns a row with "checked", or else with "error"."""
    axes = {name: INPUTS[name][0] for name in entry.inputs}
    write = partial(checked_export, partial(_module, entry, entry.dtype))
    outcome = write(feeds, expected, axes, exporter, path)
    if not isinstance(outcome, str):
        return {"checked": outcome}
    if outcome.startswith(DISAGREE):
        # If extents are baked in, the file is right for case 0, the exporter's example.
        first = write(feeds[:1], expected[:1], axes, exporter, path)
        if not isinstance(first, str):
            return {"only_case": 0, "elsewhere": outcome, "checked": first}
    return {"error": outcome}


def _exports(
    entry: Entry, out: Path, feeds: Sequence[Mapping[str, Tensor]], expected: Sequence[check.Arrays]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Exports and checks with every exporter. Returns the rows that worked and those that did
    not."""
    done, refused = [], []
    for exporter in EXPORTERS:
        file = f"{entry.name}/{exporter.name}.onnx"
        result = _export(entry, exporter, feeds, expected, out / file)
        _LOG.info("%s %s", file, result)
        row = {"attention": "module", "exporter": exporter.name, "opset": exporter.opset, **result}
        if "error" in row:
            refused.append(row)
            continue
        if entry.expected(exporter.name) != entry.expect:
            row["expect"] = entry.expected(exporter.name).as_json()
        done.append({"file": file, **row})
    return done, refused


def generate(entry: Entry, out: Path) -> dict[str, Any]:
    """Writes the module's files below `out` and returns its manifest entry."""
    (out / entry.name).mkdir(parents=True, exist_ok=True)
    feeds = [cast(make_inputs(entry.inputs, case), entry.dtype) for case in range(len(CASES))]
    expected = _expected(entry, feeds)
    exports, refused = _exports(entry, out, feeds, expected)
    own = (entry.expect.attention or 0) - entry.cross
    return {
        "dtype": entry.dtype_name,
        "attention_layers": {"self": own, "cross": entry.cross},
        "expect": entry.expect.as_json(),
        "cases": save_cases(out, entry.name, entry.dtype_name, feeds, expected),
        "exports": exports,
        "not_exported": refused,
    }


def main() -> None:
    order = [*(entry.name for entry in ENTRIES), *spellings.NAMES]
    parsed = arguments(__doc__, order)
    torch.set_num_threads(1)
    # The fused path of nn.TransformerEncoderLayer cannot be exported.
    torch.backends.mha.set_fastpath_enabled(False)
    for name in parsed.only or order:
        made = [entry for entry in ENTRIES if entry.name == name]
        result = generate(made[0], parsed.out) if made else spellings.generate(name, parsed.out)
        update_manifest(parsed.out / "manifest.json", {name: result}, order)


if __name__ == "__main__":
    main()

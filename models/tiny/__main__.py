# SPDX-License-Identifier: Apache-2.0
"""Exports the tiny test models: python -m models.tiny --out DIR [--only NAME ...]."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from models.shared import check
from models.shared.cases import CASES, axes_of, cast, make_inputs
from models.shared.command import arguments
from models.shared.exporters import EXPORTERS, Flat, checked_export, run
from models.shared.manifest import save_cases, update_manifest
from models.shared.weights import redraw
from models.tiny.families import FAMILIES
from models.tiny.family import Family

Tensors = Mapping[str, Tensor]

_LOG = logging.getLogger("models")


def _flat(family: Family, attention: str, dtype: torch.dtype) -> Flat:
    model = family.build(attention)
    redraw(model, family.weights_seed, family.gain)
    return Flat(family.part(model).to(dtype), family.inputs, family.outputs).eval()


def _feed(family: Family, case: int) -> dict[str, Tensor]:
    feed = make_inputs(family.inputs, family.axes, family.pad, case, family.name)
    if family.left_padded:
        feed = {name: tensor.flip(1) for name, tensor in feed.items()}
    return cast(feed, family.dtype)


def _require_agreement(
    family: Family,
    other: Flat,
    dtype: torch.dtype,
    feeds: Sequence[Tensors],
    results: Sequence[check.Arrays],
) -> None:
    for case, (feed, result) in enumerate(zip(feeds, results, strict=True)):
        values = run(other, cast(feed, dtype))
        what = f"{family.name} case {case}: {dtype}"
        check.require_agreement(what, family.dtype_name, result, values)


def _expected(family: Family, feeds: Sequence[Tensors]) -> list[check.Arrays]:
    """PyTorch's outputs. Raises unless sdpa and exact (float64) arithmetic confirm them."""
    first, *others = (a for a in family.attention if family.supports(a))
    model = _flat(family, first, family.dtype)
    results = [run(model, feed) for feed in feeds]
    for attention in others:
        _require_agreement(
            family, _flat(family, attention, family.dtype), family.dtype, feeds, results
        )
    exact = _flat(family, first, torch.float64)
    _require_agreement(family, exact, torch.float64, feeds, results)
    return results


def _exports(
    family: Family, folder: Path, feeds: Sequence[Tensors], expected: Sequence[check.Arrays]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Exports and checks every pair of attention and exporter. Returns the rows that worked and
    those that did not."""
    axes = {name: axes_of(name, family.axes) for name in family.inputs}
    done, refused = [], []
    for attention in family.attention:
        for exporter in EXPORTERS:
            path = folder / f"{attention}-{exporter.name}.onnx"
            row = {"attention": attention, "exporter": exporter.name, "opset": exporter.opset}
            build = partial(_flat, family, attention, family.dtype)
            outcome = checked_export(build, feeds, expected, axes, exporter, path)
            _LOG.info("%s %s", path, outcome)
            if isinstance(outcome, str):
                refused.append({**row, "error": outcome})
            else:
                done.append({"file": f"{family.name}/{path.name}", **row, "checked": outcome})
    return done, refused


def generate(family: Family, out: Path) -> dict[str, Any]:
    """Writes `family`'s files below `out` and returns its manifest entry."""
    folder = out / family.name
    folder.mkdir(parents=True, exist_ok=True)
    feeds = [_feed(family, case) for case in range(len(CASES))]
    expected = _expected(family, feeds)
    exports, refused = _exports(family, folder, feeds, expected)
    return {
        "dtype": family.dtype_name,
        "attention_layers": {"self": family.self_attention, "cross": family.cross_attention},
        "cases": save_cases(out, family.name, family.dtype_name, feeds, expected),
        "exports": exports,
        "not_exported": refused,
    }


def main() -> None:
    order = [family.name for family in FAMILIES]
    parsed = arguments(__doc__, order)
    os.environ["HF_HUB_OFFLINE"] = "1"
    torch.set_num_threads(1)
    for family in FAMILIES:
        if not parsed.only or family.name in parsed.only:
            entry = generate(family, parsed.out)
            update_manifest(parsed.out / "manifest.json", {family.name: entry}, order)


if __name__ == "__main__":
    main()

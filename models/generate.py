# SPDX-License-Identifier: Apache-2.0
"""Exports the tiny test models: python -m models.generate --out DIR [--only NAME ...]."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from models import check
from models.cases import CASES, axes_of, make_inputs
from models.command import arguments
from models.exporters import EXPORTERS, Flat, checked_export
from models.families import FAMILIES
from models.family import Family
from models.weights import redraw

Tensors = Mapping[str, Tensor]
Arrays = Mapping[str, np.ndarray]

# Largest share of the tolerance that PyTorch's own two spellings and float64 may differ by.
_LIMIT = 0.6

_LOG = logging.getLogger("models")


def _flat(family: Family, attention: str, dtype: torch.dtype) -> Flat:
    model = family.build(attention)
    redraw(model, family.weights_seed, family.gain)
    return Flat(family.part(model).to(dtype), family.inputs, family.outputs).eval()


def cast(inputs: Tensors, dtype: torch.dtype) -> dict[str, Tensor]:
    """Floating-point inputs in `dtype`, the others as they are."""
    return {k: v.to(dtype) if v.is_floating_point() else v for k, v in inputs.items()}


def run(flat: Flat, inputs: Tensors) -> Arrays:
    with torch.no_grad():
        return {n: t.numpy() for n, t in zip(flat.outputs, flat(*inputs.values()), strict=True)}


def _feed(family: Family, case: int) -> dict[str, Tensor]:
    feed = make_inputs(family.inputs, family.axes, family.pad, case, family.name)
    if family.left_padded:
        feed = {name: tensor.flip(1) for name, tensor in feed.items()}
    return cast(feed, family.dtype)


def require_agreement(what: str, dtype: str, result: Arrays, other: Arrays) -> None:
    """Raises where another way of computing `result` (rounded to its types) differs from it."""
    rounded = {k: v.astype(result[k].dtype) for k, v in other.items()}
    share = check.difference(result, rounded) / check.tolerance(dtype, result)
    if not share <= _LIMIT:
        raise ValueError(f"{what} differs by {share:.3g} x tolerance")


def _require_agreement(
    family: Family,
    other: Flat,
    dtype: torch.dtype,
    feeds: Sequence[Tensors],
    results: Sequence[Arrays],
) -> None:
    for case, (feed, result) in enumerate(zip(feeds, results, strict=True)):
        values = run(other, cast(feed, dtype))
        require_agreement(f"{family.name} case {case}: {dtype}", family.dtype_name, result, values)


def _expected(family: Family, feeds: Sequence[Tensors]) -> list[Arrays]:
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


def save_cases(
    out: Path, name: str, dtype: str, feeds: Sequence[Tensors], expected: Sequence[Arrays]
) -> list[dict[str, Any]]:
    """Writes the cases of model `name` below `out` and returns their rows of the manifest."""
    cases = []
    for case, (feed, result) in enumerate(zip(feeds, expected, strict=True)):
        files = {kind: f"{name}/case{case}.{kind}.npz" for kind in ("inputs", "expected")}
        inputs = {k: v.numpy() for k, v in feed.items()}
        np.savez(out / files["inputs"], allow_pickle=False, **inputs)
        np.savez(out / files["expected"], allow_pickle=False, **result)
        cases.append({**files, "tolerance": check.tolerance(dtype, result)})
    return cases


def _exports(
    family: Family, folder: Path, feeds: Sequence[Tensors], expected: Sequence[Arrays]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Every attention x exporter, checked: the rows that worked and those that did not."""
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


def update_manifest(path: Path, entries: Mapping[str, Any], order: Sequence[str]) -> None:
    models = json.loads(path.read_text())["models"] if path.exists() else {}
    models.update(entries)
    ordered = {name: models[name] for name in order if name in models}
    path.write_text(json.dumps({"models": ordered}, indent=1) + "\n")


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

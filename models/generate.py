"""Exports the tiny test models: python -m models.generate --out DIR [--only NAME ...]."""

from __future__ import annotations

import argparse
import json
import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from models import check
from models.cases import CASES, axes_of, make_inputs
from models.exporters import EXPORTERS, Flat, export
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


def _cast(inputs: Tensors, dtype: torch.dtype) -> dict[str, Tensor]:
    return {k: v.to(dtype) if v.is_floating_point() else v for k, v in inputs.items()}


def _run(flat: Flat, inputs: Tensors) -> Arrays:
    with torch.no_grad():
        return {n: t.numpy() for n, t in zip(flat.outputs, flat(*inputs.values()), strict=True)}


def _feed(family: Family, case: int) -> dict[str, Tensor]:
    feed = make_inputs(family.inputs, family.axes, family.pad, case, family.name)
    if family.left_padded:
        feed = {name: tensor.flip(1) for name, tensor in feed.items()}
    return _cast(feed, family.dtype)


def _require_agreement(
    family: Family,
    other: Flat,
    dtype: torch.dtype,
    feeds: Sequence[Tensors],
    results: Sequence[Arrays],
) -> None:
    for case, (feed, result) in enumerate(zip(feeds, results, strict=True)):
        values = _run(other, _cast(feed, dtype))
        rounded = {k: v.astype(result[k].dtype) for k, v in values.items()}
        share = check.difference(result, rounded) / check.tolerance(family.dtype_name, result)
        if not share <= _LIMIT:
            raise ValueError(
                f"{family.name} case {case}: {dtype} differs by {share:.3g} x tolerance"
            )


def _expected(family: Family, feeds: Sequence[Tensors]) -> list[Arrays]:
    """PyTorch's outputs. Raises unless sdpa and exact (float64) arithmetic confirm them."""
    first, *others = (a for a in family.attention if family.supports(a))
    model = _flat(family, first, family.dtype)
    results = [_run(model, feed) for feed in feeds]
    for attention in others:
        _require_agreement(
            family, _flat(family, attention, family.dtype), family.dtype, feeds, results
        )
    exact = _flat(family, first, torch.float64)
    _require_agreement(family, exact, torch.float64, feeds, results)
    return results


def _save(path: Path, arrays: Arrays) -> None:
    np.savez(path, allow_pickle=False, **arrays)


def _exports(
    family: Family, folder: Path, feeds: Sequence[Tensors], expected: Sequence[Arrays]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Every attention x exporter, checked: the rows that worked and those that did not."""
    axes = {name: axes_of(name, family.axes) for name in family.inputs}
    arrays = [{k: v.numpy() for k, v in feed.items()} for feed in feeds]
    done, refused = [], []
    for attention in family.attention:
        for exporter in EXPORTERS:
            path = folder / f"{attention}-{exporter.name}.onnx"
            row = {"attention": attention, "exporter": exporter.name, "opset": exporter.opset}
            try:
                flat = _flat(family, attention, family.dtype)
                export(flat, family.outputs, feeds[0], axes, exporter, path)
            except Exception as error:  # Exporters raise many types; all go into the table.
                path.unlink(missing_ok=True)
                refused.append({**row, "error": check.first_line(error)})
                _LOG.warning("%s %s: %s", path, exporter.name, check.first_line(error))
                continue
            said = check.verdicts(path, arrays, expected, family.dtype_name)
            if "ok" not in said.values():
                path.unlink()
                refused.append(
                    {
                        **row,
                        "error": "no runtime agrees with PyTorch: "
                        + "; ".join(f"{k}: {v}" for k, v in said.items()),
                    }
                )
                continue
            done.append({"file": f"{family.name}/{path.name}", **row, "checked": said})
            _LOG.info("%s %d bytes %s", path, path.stat().st_size, said)
    return done, refused


def generate(family: Family, out: Path) -> dict[str, Any]:
    """Writes `family`'s files below `out` and returns its manifest entry."""
    folder = out / family.name
    folder.mkdir(parents=True, exist_ok=True)
    feeds = [_feed(family, case) for case in range(len(CASES))]
    expected = _expected(family, feeds)
    cases = []
    for case, (feed, result) in enumerate(zip(feeds, expected, strict=True)):
        files = {kind: f"{family.name}/case{case}.{kind}.npz" for kind in ("inputs", "expected")}
        _save(out / files["inputs"], {k: v.numpy() for k, v in feed.items()})
        _save(out / files["expected"], result)
        cases.append({**files, "tolerance": check.tolerance(family.dtype_name, result)})
    exports, refused = _exports(family, folder, feeds, expected)
    return {
        "dtype": family.dtype_name,
        "attention_layers": {"self": family.self_attention, "cross": family.cross_attention},
        "cases": cases,
        "exports": exports,
        "not_exported": refused,
    }


def update_manifest(path: Path, entries: Mapping[str, Any], order: Sequence[str]) -> None:
    models = json.loads(path.read_text())["models"] if path.exists() else {}
    models.update(entries)
    ordered = {name: models[name] for name in order if name in models}
    path.write_text(json.dumps({"models": ordered}, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder for the models")
    order = [family.name for family in FAMILIES]
    parser.add_argument("--only", nargs="*", choices=order, metavar="NAME", help="models to remake")
    arguments = parser.parse_args()
    os.environ["HF_HUB_OFFLINE"] = "1"
    logging.basicConfig(format="%(message)s")
    _LOG.setLevel(logging.INFO)
    torch.set_num_threads(1)
    for family in FAMILIES:
        if not arguments.only or family.name in arguments.only:
            entry = generate(family, arguments.out)
            update_manifest(arguments.out / "manifest.json", {family.name: entry}, order)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""Exports one model to one .onnx file: the wrapper that the exporters trace, and the exporters."""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx
import torch
from torch import Tensor, nn
from transformers import DynamicCache

from models.shared import check
from models.shared.cases import Axes


@dataclass(frozen=True)
class Exporter:
    """A way to export: `ts` traces to TorchScript, `dyn` goes through torch.export."""

    name: str
    opset: int
    dynamo: bool


EXPORTERS = (
    Exporter("ts", 17, dynamo=False),
    Exporter("dyn", 20, dynamo=True),
    Exporter("dyn23", 23, dynamo=True),
)

# The outcome of checked_export begins with this if the file was written, but is wrong.
DISAGREE = "no runtime agrees with PyTorch: "


class Flat(nn.Module):
    """A transformers model with tensors in and tensors out, in the order of the given names."""

    def __init__(self, model: nn.Module, inputs: Sequence[str], outputs: Sequence[str]) -> None:
        super().__init__()
        self.model = model
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self.has_past = any(name.startswith("past_key_values") for name in inputs)

    def _arguments(self, tensors: Sequence[Tensor]) -> dict[str, Any]:
        named: dict[str, Any] = dict(zip(self.inputs, tensors, strict=True))
        if self.has_past:
            past = [named.pop(n) for n in self.inputs if n.startswith("past_key_values")]
            named["past_key_values"] = DynamicCache(list(zip(past[::2], past[1::2], strict=True)))
        return named

    def forward(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        result = self.model(**self._arguments(tensors))
        values = dict(result)
        if self.has_past:
            for i, layer in enumerate(values["past_key_values"].layers):
                values[f"present.{i}.key"], values[f"present.{i}.value"] = layer.keys, layer.values
        return tuple(values[name] for name in self.outputs)


def run(flat: Flat, inputs: Mapping[str, Tensor]) -> check.Arrays:
    """The outputs of `flat` by name."""
    with torch.no_grad():
        return {n: t.numpy() for n, t in zip(flat.outputs, flat(*inputs.values()), strict=True)}


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        yield


def _dynamic(axes: Axes) -> dict[int, str]:
    return {i: axis for i, axis in enumerate(axes) if isinstance(axis, str)}


def _drop_traces(path: Path) -> None:
    """Drops stack traces: they are large and name files of the exporting machine."""
    proto = onnx.load(path)
    for item in (*proto.graph.node, *proto.graph.value_info, *proto.functions):
        kept = [p for p in item.metadata_props if p.key != "pkg.torch.onnx.stack_trace"]
        item.ClearField("metadata_props")
        item.metadata_props.extend(kept)
    onnx.save(proto, path)


def export(
    flat: nn.Module,
    outputs: Sequence[str],
    inputs: Mapping[str, Tensor],
    axes: Mapping[str, Axes],
    exporter: Exporter,
    path: Path,
) -> None:
    """Writes `flat` to `path`; raises whatever the exporter raises."""
    dynamic = {name: _dynamic(axes[name]) for name in inputs}
    if exporter.dynamo:
        shapes: dict[str, Any] = {
            "dynamic_shapes": {"tensors": tuple(dynamic.values())},
            "external_data": False,
        }
    else:
        shapes = {"dynamic_axes": {name: dims for name, dims in dynamic.items() if dims}}
    with _quiet(), torch.no_grad():
        torch.onnx.export(
            flat,
            tuple(inputs.values()),
            path,
            dynamo=exporter.dynamo,
            opset_version=exporter.opset,
            input_names=list(inputs),
            output_names=list(outputs),
            verbose=False,
            **shapes,
        )
    _drop_traces(path)


def checked_export(
    build: Callable[[], nn.Module],
    feeds: Sequence[Mapping[str, Tensor]],
    expected: Sequence[check.Arrays],
    axes: Mapping[str, Axes],
    exporter: Exporter,
    path: Path,
) -> dict[str, str] | str:
    """Writes `path` with the inputs of case 0 as the exporter's example, and returns the runtimes'
    verdicts on it (check.verdicts). If the file is wrong or missing, removes it and returns the
    reason."""
    dtype = next(v.dtype.name for v in expected[0].values())
    try:
        export(build(), list(expected[0]), feeds[0], axes, exporter, path)
    except Exception as error:  # Exporters raise many types; all go into the manifest.
        path.unlink(missing_ok=True)
        return check.first_line(error)
    arrays = [{k: v.numpy() for k, v in feed.items()} for feed in feeds]
    said = check.verdicts(path, arrays, expected, dtype)
    if "ok" in said.values():
        return said
    path.unlink()
    return DISAGREE + "; ".join(f"{k}: {v}" for k, v in said.items())

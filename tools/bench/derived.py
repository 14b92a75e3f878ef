# SPDX-License-Identifier: Apache-2.0
"""Files made from a model and kept for the next time: its int8 form and its exact outputs.

Their names have a digest of the files that they were made from, so that none is out of date.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tools.bench import engines
from tools.bench.cases import Case
from tools.bench.engines import Settings


def _digest(*files: Path) -> str:
    digest = hashlib.sha256()
    for file in files:
        with file.open("rb") as stream:
            digest.update(hashlib.file_digest(stream, "sha256").digest())
    return digest.hexdigest()[:16]


@contextlib.contextmanager
def _complete(file: Path) -> Iterator[Path]:
    """Another name to write under, so that an interruption leaves no file that looks complete."""
    file.parent.mkdir(parents=True, exist_ok=True)
    partial = file.with_name(f"partial-{file.name}")
    yield partial
    partial.rename(file)


def int8(model: Path, folder: Path) -> Path:
    """The model as ONNX Runtime's quantize_dynamic writes it by default: int8 weights per tensor."""
    file = folder / f"{model.stem}-{_digest(model)}.int8.onnx"
    if not file.exists():
        # Imported here because both packages are slow to import.
        from onnxruntime.quantization import quantize_dynamic

        # It recommends other settings.
        logging.getLogger().setLevel(logging.ERROR)
        with _complete(file) as partial:
            quantize_dynamic(model, partial)
    return file


def _float64(case: Case) -> dict[str, np.ndarray]:
    """The outputs of the case's PyTorch model in float64."""
    import torch

    from models import large
    from models.shared import exporters

    model = large.MODELS[case.model].build().double()
    tensors = {name: torch.from_numpy(array) for name, array in case.inputs().items()}
    return exporters.run(model, {n: t.double() if t.is_floating_point() else t for n, t in tensors.items()})


def exact(model: Path, inputs: Path, case: Case | None, settings: Settings, folder: Path) -> Path:
    """An .npz of outputs in float64, from PyTorch, or of a file that PyTorch does not know, from
    attnrun's reference engine: it computes each operator in float64 and rounds its output to
    float32, so it is exact to about 1e-7."""
    file = folder / f"{model.stem}-{_digest(model, inputs)}.exact.npz"
    if not file.exists():
        with _complete(file) as partial:
            if case is None:
                engines.reference(model, inputs, partial, settings)
            else:
                np.savez(partial, allow_pickle=False, **_float64(case))
    return file

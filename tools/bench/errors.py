# SPDX-License-Identifier: Apache-2.0
"""How far an engine's outputs are from exact ones."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

# The largest error that is fine; more means that an engine is wrong, not just less precise. The
# models of tools.bench.cases have a third of it or less.
TOLERANCES = {"float32": 1e-4, "bf16": 0.05, "int8": 0.25}


@dataclass(frozen=True)
class Error:
    """The worst of all outputs."""

    # The largest difference, as a multiple of max(1, largest exact element).
    largest: float
    # The root of the mean square of differences, over that of the exact elements.
    rms: float
    # 1 less the cosine of the angle between exact and found, as vectors.
    cosine_distance: float

    def is_fine(self, group: str) -> bool:
        # Written so that NaN is not.
        return self.largest <= TOLERANCES[group]


def _of_array(exact: np.ndarray, found: np.ndarray) -> Error:
    if exact.shape != found.shape:
        raise ValueError(f"expected an output of shape {exact.shape}, but found {found.shape}")
    a, b = (array.astype(np.float64).ravel() for array in (exact, found))
    norms = np.linalg.norm(a), np.linalg.norm(b)
    difference = np.abs(a - b)
    rms = np.linalg.norm(difference) / norms[0] if norms[0] > 0 else float(difference.any())
    # 1 - a·b / (|a| |b|) would lose what matters to rounding.
    apart = a / max(norms[0], 1e-300) - b / max(norms[1], 1e-300)
    largest = difference.max() / max(1.0, np.abs(a).max())
    return Error(float(largest), float(rms), float(apart @ apart / 2))


def between(exact: Path, found: Path) -> Error:
    """Compares the outputs in two .npz files."""
    with np.load(exact) as a, np.load(found) as b:
        all_errors = [_of_array(a[name], b[name]) for name in a.files if a[name].size > 0]
    parts = zip(*((error.largest, error.rms, error.cosine_distance) for error in all_errors))
    # max() of the interpreter would pass over NaN.
    return Error(*(float(np.max(part)) for part in parts))

# SPDX-License-Identifier: Apache-2.0
"""Runs an exported file on its stored cases with onnxruntime, or says why that fails."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx.reference import ReferenceEvaluator

Arrays = Mapping[str, np.ndarray]

# The largest difference allowed between two of PyTorch's own ways to compute a case (eager, sdpa,
# float64), as a share of the tolerance.
_LIMIT = 0.6


def _finite(values: np.ndarray) -> np.ndarray:
    return np.nan_to_num(values.astype(np.float64), nan=0.0, posinf=0.0, neginf=0.0)


def tolerance(dtype: str, expected: Arrays) -> float:
    """Largest |difference| allowed on any output of the case."""
    relative = 2e-3 if dtype == "float16" else 1e-4
    largest = max(float(np.abs(_finite(v)).max(initial=0)) for v in expected.values())
    return relative * max(1.0, largest)


def difference(expected: Arrays, actual: Arrays) -> float:
    """Largest |difference| over all outputs. It is infinite if a shape or type differs, or if one
    side has a NaN or infinity where the other has not the same."""
    worst = 0.0
    for name, want in expected.items():
        got = actual[name]
        if got.shape != want.shape or got.dtype != want.dtype:
            return float("inf")
        same_ends = np.array_equal(
            np.where(np.isfinite(got), 0, got), np.where(np.isfinite(want), 0, want), equal_nan=True
        )
        gap = np.abs(_finite(got) - _finite(want)).max(initial=0) if same_ends else np.inf
        worst = max(worst, float(gap))
    return worst


def require_agreement(what: str, dtype: str, result: Arrays, other: Arrays) -> None:
    """Raises if `other`, rounded to the types of `result`, is too far from it. `what` names the two
    in the message."""
    rounded = {k: v.astype(result[k].dtype) for k, v in other.items()}
    share = difference(result, rounded) / tolerance(dtype, result)
    if not share <= _LIMIT:
        raise ValueError(f"{what} differs by {share:.3g} x tolerance")


def _options() -> onnxruntime.SessionOptions:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    return options


def _run_all(
    session: onnxruntime.InferenceSession | ReferenceEvaluator,
    known: Container[str],
    feeds: Sequence[Arrays],
    names: Sequence[str],
) -> list[Arrays]:
    """Runs every case; an input that the exporter dropped is not fed."""
    results: list[Arrays] = []
    for feed in feeds:
        values = session.run(names, {k: v for k, v in feed.items() if k in known})
        results.append(dict(zip(names, values, strict=True)))
    return results


def _onnxruntime(path: Path, feeds: Sequence[Arrays], names: Sequence[str]) -> list[Arrays]:
    session = onnxruntime.InferenceSession(path, _options(), providers=["CPUExecutionProvider"])
    return _run_all(session, [i.name for i in session.get_inputs()], feeds, names)


def _reference(path: Path, feeds: Sequence[Arrays], names: Sequence[str]) -> list[Arrays]:
    session = ReferenceEvaluator(onnx.load(path))
    return _run_all(session, session.input_names, feeds, names)


def first_line(error: Exception) -> str:
    """An exporter's or runtime's message, short enough for a table."""
    text = re.sub(r"^.*Status Message: ", "", str(error), flags=re.DOTALL)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    text = f"{type(error).__name__}: {lines[0] if lines else ''}"
    return re.sub(r"/\S*/(?=[\w.-])", "", text)[:240]


def verdicts(
    path: Path, feeds: Sequence[Arrays], expected: Sequence[Arrays], dtype: str
) -> dict[str, str]:
    """The verdict of each runtime on `path`: "ok", a difference, or an error. Stops at the first
    "ok"."""
    names = list(expected[0])
    said = {}
    for runtime, run in (("onnxruntime", _onnxruntime), ("onnx reference", _reference)):
        try:
            results = run(path, feeds, names)
        except Exception as error:  # The runtimes raise many types; all are recorded.
            said[runtime] = first_line(error)
            continue
        gaps = [
            difference(e, r) / tolerance(dtype, e) for e, r in zip(expected, results, strict=True)
        ]
        said[runtime] = "ok" if max(gaps) <= 1 else f"off by {max(gaps):.2g} x tolerance"
        if max(gaps) <= 1:
            break
    return said

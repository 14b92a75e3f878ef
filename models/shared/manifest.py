# SPDX-License-Identifier: Apache-2.0
"""The manifest of a set of models, and the stored cases that it lists."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from models.shared import check


def save_cases(
    out: Path,
    name: str,
    dtype: str,
    feeds: Sequence[Mapping[str, Tensor]],
    expected: Sequence[check.Arrays],
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


def update_manifest(path: Path, entries: Mapping[str, Any], order: Sequence[str]) -> None:
    """Adds or replaces `entries` in the manifest at `path`, which lists models in `order`."""
    models = json.loads(path.read_text())["models"] if path.exists() else {}
    models.update(entries)
    ordered = {name: models[name] for name in order if name in models}
    path.write_text(json.dumps({"models": ordered}, indent=1) + "\n")

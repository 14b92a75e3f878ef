# SPDX-License-Identifier: Apache-2.0
"""The models and inputs on which whole models are measured."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Case:
    """A model of models.large and the extents of its inputs; images have no length."""

    label: str
    model: str
    batch: int
    length: int | None = None

    @property
    def name(self) -> str:
        parts = [self.model, f"b{self.batch}"]
        return "-".join(parts if self.length is None else [*parts, f"l{self.length}"])

    @property
    def title(self) -> str:
        parts = [self.label, f"batch {self.batch}"]
        return ", ".join(parts if self.length is None else [*parts, f"length {self.length}"])

    def inputs(self) -> Arrays:
        rng = np.random.default_rng(0)
        if self.length is None:
            return {"pixel_values": rng.standard_normal((self.batch, 3, 224, 224), np.float32)}
        shape = (self.batch, self.length)
        return {
            "input_ids": rng.integers(1000, 30000, shape),
            "attention_mask": np.ones(shape, np.int64),
            "token_type_ids": np.zeros(shape, np.int64),
        }


CASES = (
    Case("MiniLM-L6", "minilm-l6", 1, 128),
    Case("MiniLM-L6", "minilm-l6", 8, 128),
    Case("MiniLM-L6", "minilm-l6", 1, 512),
    Case("BERT-base", "bert-base", 1, 128),
    Case("BERT-base", "bert-base", 1, 512),
    Case("ViT-B/16", "vit-b16", 1),
)


@dataclass(frozen=True)
class Job:
    """One row of the report: the files of a model and an .npz of inputs."""

    title: str
    model: Path
    inputs: Path
    # An .npz of outputs in float64.
    exact: Path
    # The model with int8 weights, if an entrant runs it.
    int8: Path | None = None
    case: Case | None = None

# SPDX-License-Identifier: Apache-2.0
"""Makes the files of jobs: models, inputs, int8 models and exact outputs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tools.bench import derived
from tools.bench.cases import Case, Job
from tools.bench.engines import Settings
from tools.bench.progress import progress


@dataclass(frozen=True)
class Workshop:
    # Keeps models, and in a folder below those files that are made from models.
    models: Path
    # Holds inputs until the end.
    scratch: Path
    settings: Settings
    # True if jobs need int8 models.
    int8: bool

    def of_case(self, case: Case) -> Job:
        """A job of a model that is made here, unless it is there."""
        model = self.models / f"{case.model}.onnx"
        if not model.exists():
            progress(f"making {model}")
            # Imported here because PyTorch is slow to import.
            from models import large

            large.make(case.model, self.models)
        inputs = self.scratch / f"{case.name}.npz"
        np.savez(inputs, allow_pickle=False, **case.inputs())
        return self._job(case.title, model, inputs, case)

    def of_model(self, model: Path, inputs: Path) -> Job:
        """A job of any model file."""
        return self._job(model.stem, model, inputs, None)

    def _job(self, title: str, model: Path, inputs: Path, case: Case | None) -> Job:
        progress(f"{title}: exact outputs, int8 model")
        folder = self.models / "derived"
        exact = derived.exact(model, inputs, case, self.settings, folder)
        int8 = derived.int8(model, folder) if self.int8 else None
        return Job(title, model, inputs, exact, int8, case)

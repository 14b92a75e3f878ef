# SPDX-License-Identifier: Apache-2.0
"""The entrants of the comparison: an engine, the precision that it runs in, and the file it runs."""

from __future__ import annotations

from dataclasses import dataclass

from tools.bench.names import ATTNRUN, PEERS

# Entrants compete within a group. Its name is the lowest precision that products may have.
GROUPS = ("float32", "bf16", "int8")


@dataclass(frozen=True)
class Entrant:
    """`options` are of `attnrun bench` and `attnrun run`, or of tools.bench.peer."""

    # The key in records; in float32 the name of the engine, as in records without other groups.
    name: str
    title: str
    engine: str
    group: str
    options: tuple[str, ...] = ()
    # Runs the model as quantize_dynamic writes it, not the float32 file.
    int8_file: bool = False
    # False if it is shown beside its group alone, because no peer does the same.
    competes: bool = True

    @property
    def is_ours(self) -> bool:
        return self.engine == ATTNRUN


_ORT, _OV = PEERS
_FILE = ", int8 file"
_F32 = ("--precision", "f32")
_BF16 = ("--precision", "bf16")
_INT8 = ("--precision", "int8")

# In each group attnrun comes first. OpenVINO chooses bf16 by itself where the processor has it; then
# it does so for what its int8 file leaves in floats, too.
ENTRANTS = (
    Entrant(ATTNRUN, ATTNRUN, ATTNRUN, "float32"),
    Entrant(_ORT, PEERS[_ORT], _ORT, "float32"),
    Entrant(_OV, PEERS[_OV], _OV, "float32", _F32),
    Entrant("attnrun-bf16", "attnrun --precision bf16", ATTNRUN, "bf16", _BF16),
    Entrant("openvino-default", f"{PEERS[_OV]} by default", _OV, "bf16", ("--expect", "bf16")),
    Entrant("attnrun-int8-file", ATTNRUN + _FILE, ATTNRUN, "int8", int8_file=True),
    Entrant("attnrun-int8", "attnrun --precision int8", ATTNRUN, "int8", _INT8, competes=False),
    Entrant("onnxruntime-int8-file", PEERS[_ORT] + _FILE, _ORT, "int8", int8_file=True),
    Entrant("openvino-int8-file", PEERS[_OV] + _FILE, _OV, "int8", int8_file=True),
)

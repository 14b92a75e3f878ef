# SPDX-License-Identifier: Apache-2.0
"""Writes ONNX nodes with the names and the spelling of tf2onnx, operator by operator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

_INT64 = TensorProto.INT64


class Writer:
    """Collects nodes in order; a value has the name of its node plus TensorFlow's output number."""

    def __init__(self) -> None:
        self.nodes: list[NodeProto] = []
        self.constants: dict[str, TensorProto] = {}

    def constant(self, name: str, value: np.ndarray | float | Sequence[int]) -> str:
        """Adds a constant: floats become float32, integers int64."""
        array = np.asarray(value)
        array = array.astype(np.float32 if array.dtype.kind == "f" else np.int64)
        self.constants[name] = numpy_helper.from_array(array, name)
        return name

    def node(self, name: str, op: str, *inputs: str, **attributes: Any) -> str:
        output = f"{name}:0"
        self.nodes.append(helper.make_node(op, list(inputs), [output], name, **attributes))
        return output

    def binary(self, name: str, op: str, x: str, y: str | float) -> str:
        """An operator of two operands. If `y` is a number, it becomes a constant of its own."""
        other = y if isinstance(y, str) else self.constant(f"{name}/y:0", y)
        return self.node(name, op, x, other)

    def extent(self, name: str, x: str, axis: int) -> str:
        """tf.shape(x)[axis] as a scalar: Shape, Cast, StridedSlice (Slice, Squeeze)."""
        shape = self.node(f"{name}/Shape__cast", "Cast", self._shape(name, x), to=TensorProto.INT32)
        start, end = (self.constant(f"const_{i}", [i]) for i in (axis, axis + 1))
        axes = self.constant("const_0", [0])
        cut = self.node(f"{name}/strided_slice", "Slice", shape, start, end, axes)
        return self.node(f"{name}/strided_slice__squeeze", "Squeeze", cut, axes)

    def _shape(self, name: str, x: str) -> str:
        return self.node(f"{name}/Shape", "Shape", x)

    def packed(self, name: str, *extents: str | int) -> str:
        """A shape made of scalars and numbers: Unsqueeze on each, Concat, Cast."""
        axes = self.constant("const_0", [0])
        parts = []
        for i, extent in enumerate(extents):
            if isinstance(extent, int):
                number = self.constant(f"const_int32_{extent}", [extent])
                self.constants[number].CopyFrom(
                    numpy_helper.from_array(np.array([extent], np.int32), number)
                )
                parts.append(number)
            else:
                parts.append(self.node(f"{name}/shape_Unsqueeze__{i}", "Unsqueeze", extent, axes))
        both = self.node(f"{name}/shape_Concat", "Concat", *parts, axis=0)
        return self.node(f"{name}/shape__cast", "Cast", both, to=_INT64)

    def model(self, opset: int, inputs: Sequence[str], output: str, width: int) -> ModelProto:
        result = f"{output}__identity"
        self.nodes.append(helper.make_node("Identity", [output], ["last_hidden_state"], result))
        axes = ["batch", "sequence"]
        graph = helper.make_graph(
            self.nodes,
            "tf2onnx",
            [helper.make_tensor_value_info(name, _INT64, axes) for name in inputs],
            [helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, [*axes, width])],
            list(self.constants.values()),
        )
        return helper.make_model(
            graph, ir_version=8, opset_imports=[helper.make_opsetid("", opset)]
        )

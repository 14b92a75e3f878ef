# SPDX-License-Identifier: Apache-2.0
"""The engines that are measured, by the name of their Python package."""

from __future__ import annotations

ATTNRUN = "attnrun"
PEERS = {"onnxruntime": "ONNX Runtime", "openvino": "OpenVINO"}

# SPDX-License-Identifier: Apache-2.0
"""Writes the ONNX standard's node cases out as test data directories.

usage: write_cases.py FOLDER

The cases are those of the installed `onnx` package (pinned in requirements.txt): NAME/model.onnx,
NAME/test_data_set_0/input_I.pb and output_I.pb, and cases.json, which lists them:
{"key": ..., "cases": [{"name", "rtol", "atol"}]}. Does nothing if FOLDER already holds the same set.
"""

import argparse
import hashlib
import importlib.metadata
import json
import pathlib
import random
import shutil
import sys
import warnings

# The number of cases in onnx 1.23.2. A package with fewer would make the tests pass by testing less.
EXPECTED_CASES = 1884
MANIFEST = "cases.json"


def content_key() -> str:
    """Identifies a set of cases without importing onnx, which takes seconds."""
    own = hashlib.sha256(pathlib.Path(__file__).read_bytes()).hexdigest()[:16]
    packages = ("onnx", "numpy", "ml_dtypes")
    return " ".join([*(f"{p}={importlib.metadata.version(p)}" for p in packages), own])


def is_written(folder: pathlib.Path) -> bool:
    try:
        return json.loads((folder / MANIFEST).read_text())["key"] == content_key()
    except (OSError, ValueError, KeyError):
        return False


def collect() -> list:
    import numpy
    from onnx.backend.test.case import node

    random.seed(0)
    numpy.random.seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return node.collect_testcases(None)


def to_proto(value, info):
    """The TensorProto, SequenceProto or OptionalProto of one input or output; `info` has the type."""
    from onnx import TensorProto, numpy_helper

    if isinstance(value, TensorProto):
        return value
    write = {
        "tensor_type": numpy_helper.from_array,
        "sequence_type": numpy_helper.from_list,
        "optional_type": numpy_helper.from_optional,
    }
    return write[info.type.WhichOneof("value")](value, info.name)


def write_values(folder: pathlib.Path, kind: str, values, infos) -> None:
    for i, (value, info) in enumerate(zip(values, infos, strict=True)):
        (folder / f"{kind}_{i}.pb").write_bytes(to_proto(value, info).SerializeToString())


def write_case(folder: pathlib.Path, case) -> dict:
    ((inputs, outputs),) = case.data_sets
    data = folder / case.name / "test_data_set_0"
    data.mkdir(parents=True)
    (folder / case.name / "model.onnx").write_bytes(case.model.SerializeToString())
    write_values(data, "input", inputs, case.model.graph.input)
    write_values(data, "output", outputs, case.model.graph.output)
    return {"name": case.name, "rtol": case.rtol, "atol": case.atol}


def main() -> int | str:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    folder = parser.parse_args().folder
    if is_written(folder):
        return 0
    cases = sorted(collect(), key=lambda case: case.name)
    if len(cases) != EXPECTED_CASES:
        return f"expected {EXPECTED_CASES} node cases, the onnx package holds {len(cases)}"
    # The folder gets its final name last, so a folder of that name is complete.
    partial = folder.with_name(folder.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    manifest = {"key": content_key(), "cases": [write_case(partial, case) for case in cases]}
    (partial / MANIFEST).write_text(json.dumps(manifest, indent=0))
    if (folder / MANIFEST).exists():
        shutil.rmtree(folder)
    partial.rename(folder)
    print(f"{len(cases)} node cases written to {folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

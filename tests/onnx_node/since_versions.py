# SPDX-License-Identifier: Apache-2.0
"""Compares the operators attnrun registers with the schemas of the pinned `onnx` package.

usage: since_versions.py PROGRAM

PROGRAM (registered_ops) prints an array of
{"domain", "name", "since": [...], "inputs": [min, max], "outputs": [min, max]}. Each operator must list,
in order, exactly the since_versions that the opsets 7 to 28 select (deprecated versions are optional),
and must allow exactly the numbers of inputs and outputs that those versions allow together. Domains that
ONNX does not define are ignored. Exit status 1 if any operator differs.
"""

import json
import subprocess
import sys

from onnx import defs

OLDEST_OPSET, NEWEST_OPSET = 7, 28
ONNX_DOMAINS = ("", "ai.onnx.ml", "ai.onnx.preview", "ai.onnx.preview.training")
# Versions that attnrun deliberately refuses as not covered, with the reason.
NOT_COVERED = {("", "Scan", 8): "has a batch axis and sequence_lens; version 9 dropped both"}
# Versions that only other tools define.
BEYOND_ONNX = {
    ("", "LayerNormalization", 1): "ONNX Runtime's optimizer writes it at opsets below 17",
    ("", "SimplifiedLayerNormalization", 1): "ONNX Runtime's optimizer puts it into ai.onnx",
}


def schemas_by_op() -> dict:
    """(domain, name) -> {since_version: schema} in force at one of the opsets."""
    by_op = {}
    for schema in defs.get_all_schemas_with_history():
        by_op.setdefault((schema.domain, schema.name), {})[schema.since_version] = schema
    for (domain, _), versions in by_op.items():
        if domain == "":
            first = max((v for v in versions if v <= OLDEST_OPSET), default=OLDEST_OPSET)
            for version in [v for v in versions if not first <= v <= NEWEST_OPSET]:
                del versions[version]
    return by_op


def least(schema, kind: str) -> int:
    """The number of leading inputs or outputs that are required. An optional one that must be listed,
    such as Loop's M, may be listed as omitted."""
    parameters, count = getattr(schema, f"{kind}s"), getattr(schema, f"min_{kind}")
    optional = defs.OpSchema.FormalParameterOption.Optional
    while 0 < count <= len(parameters) and parameters[count - 1].option == optional:
        count -= 1
    return count


def arity(schemas: list, kind: str) -> list[int]:
    return [min(least(s, kind) for s in schemas), max(getattr(s, f"max_{kind}") for s in schemas)]


def differences(op: dict, versions: dict) -> list[str]:
    """`versions` maps since_version to ONNX's schema of the operator."""
    key, listed = (op["domain"], op["name"]), set(op["since"])
    required = {v for v, s in versions.items() if not s.deprecated and (*key, v) not in NOT_COVERED}
    unknown = {v for v in listed - versions.keys() if (*key, v) not in BEYOND_ONNX}
    found = [f"{problem} {sorted(v)}" for problem, v in
             (("lacks since_versions", required - listed), ("lists since_versions unknown to ONNX", unknown)) if v]
    if op["since"] != sorted(listed):
        found.append(f"since_versions are not in order: {op['since']}")
    schemas = [versions[v] for v in listed & versions.keys()]
    for kind in ("input", "output"):
        if schemas and op[f"{kind}s"] != (expected := arity(schemas, kind)):
            found.append(f"allows {op[f'{kind}s']} {kind}s, ONNX {expected}")
    return [f"{key[0] or 'ai.onnx'}.{key[1]} {line}" for line in found]


def main() -> int:
    (program,) = sys.argv[1:]
    ops = json.loads(subprocess.run([program], check=True, stdout=subprocess.PIPE).stdout)
    by_op = schemas_by_op()
    standard = [op for op in ops if op["domain"] in ONNX_DOMAINS]
    wrong = [line for op in standard for line in differences(op, by_op.get((op["domain"], op["name"]), {}))]
    print(*wrong, f"{len(standard)} operators compared with the schemas, {len(wrong)} differences", sep="\n")
    return 1 if wrong or not standard else 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
"""Tests of README's table: records with and without precisions beside float32 make one."""

import unittest
from pathlib import Path

from tools.bench import table

ENGINES = {
    "attnrun": {"best_ms": 20.0, "load_ms": 50, "memory_mb": 70},
    "onnxruntime": {"best_ms": 24.0, "load_ms": 300, "memory_mb": 140},
    "openvino": {"best_ms": 22.0, "load_ms": 400, "memory_mb": 190},
}
LOWER = {
    "attnrun-bf16": {"best_ms": 4.0},
    "openvino-default": {"best_ms": 5.0},
    "attnrun-int8-file": {"best_ms": 8.0},
}
FLOAT32 = {"ratio": 1.1, "ratio_of_turns": 1.08, "share_of_peak": 0.8}
BF16 = {"ratio": 1.25, "attnrun": "attnrun-bf16", "peer": "openvino-default"}
WITHOUT_PEER = {"ratio": None, "attnrun": "attnrun-int8-file", "peer": None}


def record(**case) -> table.Record:
    return {
        "date": "2026-01-02",
        "machine": {"processor": "Some Processor"},
        "threads": 2,
        "versions": {"onnxruntime": "1.2.3", "openvino": "4.5.6"},
        "cases": [{"model": "Tiny", "batch": 1, "length": 8, **case}],
    }


def rows(made: table.Record) -> list[list[str]]:
    text = table.block(Path("some.json"), made)
    lines = [line for line in text.split("\n") if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


class TableTest(unittest.TestCase):
    def test_first_form_has_float32_alone(self):
        old = record(ratio=1.1, ratio_of_turns=1.08, share_of_fma_peak=0.8, engines=ENGINES)
        head, _, row, mean = rows(old)
        self.assertEqual(head[-1], "memory")
        self.assertEqual(row[1:6], ["20.0", "24.0", "22.0", "1.10", "80 %"])
        self.assertEqual(row[6:], ["50 / 300", "70 / 140"])
        self.assertEqual(mean[4:6], ["1.10", ""])

    def test_further_precision_has_a_column(self):
        new = record(precisions={"float32": FLOAT32, "bf16": BF16}, engines=ENGINES | LOWER)
        head, _, row, mean = rows(new)
        self.assertEqual(head[-2:], ["memory", "bf16"])
        self.assertEqual(row[4:6], ["1.10", "80 %"])
        self.assertEqual(row[-1], "1.25")
        self.assertEqual(mean[-1], "1.25")
        self.assertEqual({len(cells) for cells in rows(new)}, {len(head)})

    def test_precision_without_peers_has_none(self):
        groups = {"float32": FLOAT32, "int8": WITHOUT_PEER}
        head = rows(record(precisions=groups, engines=ENGINES | LOWER))[0]
        self.assertEqual(head[-1], "memory")

    def test_case_without_the_precision_is_left_out_of_the_mean(self):
        new = record(precisions={"float32": FLOAT32, "bf16": BF16}, engines=ENGINES | LOWER)
        other = record(precisions={"float32": FLOAT32}, engines=ENGINES)
        new["cases"] += other["cases"]
        *_, first, second, mean = rows(new)
        self.assertEqual([first[-1], second[-1], mean[-1]], ["1.25", "", "1.25"])


if __name__ == "__main__":
    unittest.main()

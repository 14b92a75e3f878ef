# SPDX-License-Identifier: Apache-2.0
"""Measures generation beside onnxruntime-genai and llama.cpp: python -m tools.bench.generation FOLDER.

FOLDER is what onnxruntime-genai's builder writes. Engines take turns, each turn in a process of its
own. onnxruntime-genai takes part if its package is there, llama.cpp with --llama-cpp.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from tools.bench import llama_cpp

ROOT = Path(__file__).resolve().parents[2]
PEER = "onnxruntime_genai"
# Keys of the reports, their titles, and whether more is better.
FIGURES = (
    ("prompt_tokens_per_second", "prompt, tokens/s", True),
    ("decode_tokens_per_second", "decode, tokens/s", True),
    ("time_to_first_token_ms", "first token, ms", False),
    ("peak_rss_mb", "memory, MB", False),
)
Report = Mapping[str, float]


def output_of(command: Sequence[str]) -> Report:
    run = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    return json.loads(run.stdout)


def with_threads(folder: Path, threads: int, scratch: Path) -> Path:
    """A copy of the folder whose configuration asks for this number of threads; its files are
    links."""
    for file in folder.iterdir():
        (scratch / file.name).symlink_to(file.resolve())
    config = json.loads((folder / "genai_config.json").read_text())
    session = config["model"]["decoder"].setdefault("session_options", {})
    session["intra_op_num_threads"] = threads
    (scratch / "genai_config.json").unlink()
    (scratch / "genai_config.json").write_text(json.dumps(config))
    return scratch


def ours(arguments: argparse.Namespace) -> Report:
    program = str(ROOT / "build/release/attnrun")
    sizes = ["--prompt-tokens", str(arguments.prompt_tokens)]
    sizes += ["--new-tokens", str(arguments.new_tokens), "--threads", str(arguments.threads)]
    options = ["--precision", arguments.precision]
    command = [program, "bench", str(arguments.folder), "--generate", "--json", "--runs", "3"]
    return output_of(command + sizes + options)


def theirs(arguments: argparse.Namespace) -> Report:
    sizes = [str(arguments.prompt_tokens), str(arguments.new_tokens)]
    with tempfile.TemporaryDirectory() as scratch:
        folder = with_threads(arguments.folder, arguments.threads, Path(scratch))
        command = [sys.executable, "-m", "tools.bench.generation_peer", str(folder)]
        return output_of(command + sizes)


def llamas(arguments: argparse.Namespace) -> Report:
    sizes = (arguments.prompt_tokens, arguments.new_tokens, arguments.threads)
    return llama_cpp.measure(llama_cpp.MODEL, *sizes)


def ratio_of(
    mine: Sequence[Report], theirs: Sequence[Report], key: str, more: bool
) -> str:
    """The median of the turns' ratios; above 1 where attnrun is better."""
    if key not in theirs[0]:
        return "-"
    ratios = [own[key] / other[key] for own, other in zip(mine, theirs, strict=True)]
    return f"{statistics.median(ratios if more else [1 / ratio for ratio in ratios]):.2f}"


def show(turns: Mapping[str, Sequence[Report]]) -> None:
    width = shutil.get_terminal_size((80, 24)).columns
    own, *peers = turns
    header = ["", own]
    for peer in peers:
        header += [peer, "ratio"]
    rows = [header]
    for key, title, more in FIGURES:
        best = max if more else min
        cells = [title, f"{best(report[key] for report in turns[own]):.1f}"]
        for peer in peers:
            figures = [report[key] for report in turns[peer] if key in report]
            cells.append(f"{best(figures):.1f}" if figures else "-")
            cells.append(ratio_of(turns[own], turns[peer], key, more))
        rows.append(cells)
    for row in rows:
        print(" ".join(f"{cell:>18}" for cell in row)[:width])
    share = max(report["share_of_bandwidth"] or 0 for report in turns[own])
    if share > 0:
        print(f"{own} decodes at {100 * share:.0f} % of the read bandwidth of memory")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--prompt-tokens", type=int, default=128)
    parser.add_argument("--new-tokens", type=int, default=64)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--precision", default="float32", help="attnrun's")
    parser.add_argument("--json", action="store_true", help="print all turns")
    parser.add_argument(
        "--llama-cpp",
        action="store_true",
        help="build llama.cpp, and measure a model of the same shape with random weights",
    )
    arguments = parser.parse_args()
    engines = {"attnrun": ours}
    has_config = (arguments.folder / "genai_config.json").exists()
    if has_config and importlib.util.find_spec(PEER) is not None:
        engines["onnxruntime-genai"] = theirs
    if arguments.llama_cpp:
        llama_cpp.build()
        llama_cpp.write_model(arguments.folder, llama_cpp.MODEL)
        engines["llama.cpp"] = llamas
    turns: dict[str, list[Report]] = {name: [] for name in engines}
    for _ in range(arguments.turns):
        for name, measure in engines.items():
            turns[name].append(measure(arguments))
    if arguments.json:
        print(json.dumps(turns))
    else:
        show(turns)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""Measures onnxruntime-genai: python -m tools.bench.generation_peer FOLDER PROMPT_TOKENS NEW_TOKENS.

Prints the keys of `attnrun bench --generate --json` that both have.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np
import onnxruntime_genai as genai

from tools.bench.peer import memory_mb

RUNS = 3


def run(model: genai.Model, prompt_tokens: int, new_tokens: int) -> tuple[float, float]:
    """The seconds to the first token, and those of the others."""
    length = prompt_tokens + new_tokens
    settings = genai.GeneratorParams(model)
    settings.set_search_options(max_length=length, min_length=length, do_sample=False)
    generator = genai.Generator(model, settings)
    start = time.perf_counter()
    generator.append_tokens(np.array([[1 + i % 9 for i in range(prompt_tokens)]], dtype=np.int32))
    generator.generate_next_token()
    first = time.perf_counter()
    for _ in range(new_tokens - 1):
        generator.generate_next_token()
    return first - start, time.perf_counter() - first


def main() -> None:
    folder, prompt_tokens, new_tokens = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    before = memory_mb("VmRSS")
    model = genai.Model(folder)
    run(model, prompt_tokens, new_tokens)
    times = [run(model, prompt_tokens, new_tokens) for _ in range(RUNS)]
    first = min(seconds for seconds, _ in times)
    others = min(seconds for _, seconds in times)
    report = {
        "prompt_tokens_per_second": prompt_tokens / first,
        "decode_tokens_per_second": (new_tokens - 1) / others,
        "time_to_first_token_ms": first * 1e3,
        "peak_rss_mb": memory_mb("VmHWM") - before,
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()

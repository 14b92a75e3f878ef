# SPDX-License-Identifier: Apache-2.0
"""Says on a terminal what is going on."""

from __future__ import annotations

import sys


def progress(text: str) -> None:
    """Replaces the last such line."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)

# SPDX-License-Identifier: Apache-2.0
"""Shared by the programs of this package: their arguments and how they report progress."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Iterable
from pathlib import Path


def arguments(description: str | None, names: Iterable[str]) -> argparse.Namespace:
    """Reads --out DIR and --only NAME ... (some of `names`; all if absent), and shows the progress
    that the logger "models" reports."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--out", type=Path, required=True, help="folder for the models")
    choices = list(names)
    # The help text lists a few names, not dozens.
    metavar = "NAME" if len(choices) > 8 else None
    parser.add_argument(
        "--only", nargs="*", choices=choices, metavar=metavar, help="models to (re)make"
    )
    parsed = parser.parse_args()
    logging.basicConfig(format="%(message)s")
    logging.getLogger("models").setLevel(logging.INFO)
    return parsed

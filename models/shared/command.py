# SPDX-License-Identifier: Apache-2.0
"""What the programs of this package share: their arguments and how they say what they do."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Iterable
from pathlib import Path


def arguments(description: str | None, names: Iterable[str]) -> argparse.Namespace:
    """Reads --out DIR and --only NAME ... (of `names`; none: all), and lets progress of the
    logger "models" be seen."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--out", type=Path, required=True, help="folder for the models")
    choices = list(names)
    # Help lists a handful, not dozens.
    metavar = "NAME" if len(choices) > 8 else None
    parser.add_argument(
        "--only", nargs="*", choices=choices, metavar=metavar, help="models to (re)make"
    )
    parsed = parser.parse_args()
    logging.basicConfig(format="%(message)s")
    logging.getLogger("models").setLevel(logging.INFO)
    return parsed

# SPDX-License-Identifier: Apache-2.0
"""Checks the rules of the house that no compiler knows: names, containers, includes, language, papers.

usage: check.py [FOLDER]

FOLDER is the source folder, by default the one that holds this file. Prints a line for each finding, "file:line:
what is wrong; what to do instead". Exit status 1 if there are any.
"""

import sys
from pathlib import Path

import containers
import definitions
import includes
import language
import papers
from source import Files, Finding, read_files

CHECKS = (
    containers.check,
    definitions.check,
    includes.check,
    language.check,
    papers.check_licenses,
    papers.check_source_widths,
    papers.check_documents,
    papers.check_drawings,
    papers.check_promises,
)


def findings(files: Files) -> list[Finding]:
    return [finding for check in CHECKS for finding in check(files)]


def main() -> int:
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[2]
    found = findings(read_files(root))
    for finding in found:
        print(finding)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

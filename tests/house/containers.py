# SPDX-License-Identifier: Apache-2.0
"""The libraries use no container that breaks when memory runs out."""

import re

from source import Files, Finding, in_folders

LIBRARIES = ("ops", "runtime", "loader")
BREAKS = re.compile(r'^#include [<"](absl/container/(?:flat_hash|node_hash|btree)_\w+\.h)', re.MULTILINE)


def check(files: Files) -> list[Finding]:
    return [
        Finding(path, text.count("\n", 0, found.start()) + 1, f"{found[1]} breaks when an insertion finds no memory",
                "use core/hash_map.h or the standard library")
        for path, text in in_folders(files, LIBRARIES, ".cc", ".h")
        for found in BREAKS.finditer(text)
    ]

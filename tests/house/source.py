# SPDX-License-Identifier: Apache-2.0
"""The files of the repository and how to read them."""

import ast
import re
from pathlib import Path
from typing import Iterator, NamedTuple

CODE = ("ops", "runtime", "loader", "tools")
FOLDERS = (*CODE, "tests", "models", "packaging", "examples")
SUFFIXES = (".cc", ".h", ".py", ".cmake")

Files = dict[str, str]


class Finding(NamedTuple):
    path: str
    line: int
    what: str
    instead: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.what}; {self.instead}"


def is_source(path: Path) -> bool:
    return path.suffix in SUFFIXES or path.name == "CMakeLists.txt"


def read_files(root: Path) -> Files:
    """The text of every source file and document by its path."""
    paths = [root / "CMakeLists.txt", root / "tools" / "dev", *root.glob("*.md"), *root.glob("docs/*.md")]
    for folder in FOLDERS:
        paths += [path for path in (root / folder).rglob("*") if is_source(path)]
    paths = sorted(path for path in paths if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8") for path in paths}


def in_folders(files: Files, folders: tuple[str, ...], *suffixes: str) -> Iterator[tuple[str, str]]:
    for path, text in files.items():
        if path.split("/")[0] in folders and path.endswith(suffixes):
            yield path, text


def docstrings(text: str) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            if (found := ast.get_docstring(node)) is not None:
                yield node.body[0].lineno, " ".join(found.split())


def comments(path: str, text: str) -> Iterator[tuple[int, str]]:
    """Each run of comment lines with the same indentation, joined, and the line it starts at."""
    if path.endswith(".py"):
        yield from docstrings(text)
    mark = "//" if path.endswith((".cc", ".h")) else "#"
    run = re.compile(rf"^([ \t]*){mark}[^\n]*(?:\n\1{mark}[^\n]*)*", re.MULTILINE)
    for found in run.finditer(text):
        lines = [line.strip().removeprefix(mark).strip() for line in found[0].split("\n")]
        yield text.count("\n", 0, found.start()) + 1, " ".join(lines)
    for found in re.finditer(rf"(?<=\S) +{mark} ([^\n\"]*)$", text, re.MULTILINE):
        yield text.count("\n", 0, found.start()) + 1, found[1]

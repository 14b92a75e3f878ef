# SPDX-License-Identifier: Apache-2.0
"""Includes point one way: each layer includes only layers below it, and folders form no circle."""

import re
from pathlib import PurePosixPath
from typing import Iterator, NamedTuple

from source import CODE, Files, Finding, in_folders


class Layer(NamedTuple):
    name: str
    folders: str  # a regular expression; the first layer that matches a folder has it
    below: tuple[str, ...]  # the layers right below; theirs may be included, too


LAYERS = (
    Layer("public headers", r"runtime/include/attnrun", ()),
    Layer("core", r"runtime/core", ("public headers",)),
    Layer("graph", r"runtime/graph", ("core",)),
    Layer("loader", r"loader", ("graph",)),
    Layer("op interface", r"ops/interface", ("graph",)),
    Layer("tensors", r"ops/tensors", ("op interface",)),
    Layer("composite", r"ops/composite", ("op interface",)),
    Layer("gemm", r"ops/gemm", ("tensors", "composite")),
    Layer("op families", r"ops/\w+(/\w+)?", ("gemm",)),
    Layer("op list", r"ops", ("op families",)),
    Layer("analysis", r"runtime/optimizer/analysis", ("op families",)),
    Layer("rewrite", r"runtime/optimizer/rewrite", ("analysis",)),
    Layer("rules", r"runtime/optimizer/rules/\w+", ("rewrite",)),
    Layer("optimizer", r"runtime/optimizer", ("rules",)),
    Layer("execution", r"runtime/execution", ("optimizer",)),
    Layer("weight cache", r"runtime/weight_cache", ("gemm", "loader")),
    Layer("input fit", r"runtime/input_fit", ("analysis",)),
    Layer("state", r"runtime/state", ("input fit",)),
    Layer("generation", r"runtime/generation", ("core",)),
    Layer("session", r"runtime", ("generation", "execution", "weight cache", "state", "op list")),
    Layer("c api", r"runtime/capi", ("session",)),
    Layer("tools", r"tools/\w+", ("session",)),
)
BY_NAME = {layer.name: layer for layer in LAYERS}
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
ROOTS = ("", "runtime/", "runtime/include/")


def layer_of(folder: str) -> Layer | None:
    return next((layer for layer in LAYERS if re.fullmatch(layer.folders, folder)), None)


def all_below(layer: Layer) -> set[str]:
    names = set(layer.below)
    for name in layer.below:
        names |= all_below(BY_NAME[name])
    return names


class Arrow(NamedTuple):
    path: str
    line: int
    source: str  # a folder
    target: str


def arrows(files: Files) -> Iterator[Arrow]:
    """The includes that lead from one folder of the project to another."""
    for path, text in in_folders(files, CODE, ".cc", ".h"):
        source = str(PurePosixPath(path).parent)
        for found in INCLUDE.finditer(text):
            included = next((root + found[1] for root in ROOTS if root + found[1] in files), None)
            target = str(PurePosixPath(included).parent) if included else source
            if target != source:
                yield Arrow(path, text.count("\n", 0, found.start()) + 1, source, target)


def check_direction(arrow: Arrow) -> Finding | None:
    source, target = layer_of(arrow.source), layer_of(arrow.target)
    if source is None or target is None:
        folder = arrow.source if source is None else arrow.target
        return Finding(arrow.path, arrow.line, f"{folder} is in no layer", "add it to LAYERS in includes.py")
    if source == target or target.name in all_below(source):
        return None
    what = f"{arrow.source} ({source.name}) includes {arrow.target} ({target.name}), which is not below it"
    return Finding(arrow.path, arrow.line, what, "include lower layers only: " + ", ".join(sorted(all_below(source))))


def find_circle(graph: dict[str, set[str]], folder: str, path: tuple[str, ...], done: set[str]) -> tuple[str, ...]:
    """The folders of a circle that `path`, continued by `folder`, leads into; empty if there is none."""
    if folder in path:
        return (*path[path.index(folder) :], folder)
    if folder in done:
        return ()
    done.add(folder)
    circles = (find_circle(graph, target, (*path, folder), done) for target in sorted(graph.get(folder, ())))
    return next((circle for circle in circles if circle), ())


def check(files: Files) -> list[Finding]:
    found = list(arrows(files))
    findings = [finding for arrow in found if (finding := check_direction(arrow))]
    graph: dict[str, set[str]] = {}
    for arrow in found:
        graph.setdefault(arrow.source, set()).add(arrow.target)
    done: set[str] = set()
    for folder in sorted(graph):
        if circle := find_circle(graph, folder, (), done):
            arrow = next(a for a in found if (a.source, a.target) == circle[:2])
            what = "folders include each other: " + " -> ".join(circle)
            findings.append(Finding(arrow.path, arrow.line, what, "move the shared part into a folder below them"))
    return findings

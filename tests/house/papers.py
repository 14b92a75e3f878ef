# SPDX-License-Identifier: Apache-2.0
"""Documents of a readable size, a licence in every source file, a drawing on top of every rule, a test for every promise."""

import re

from source import FOLDERS, Files, Finding, in_folders

LICENSE = "SPDX-License-Identifier: Apache-2.0"
README_LINES = 150
COLUMNS = 100
RULE = re.compile(r"^extern const Rule k\w+ = ", re.MULTILINE)
TEST = re.compile(r"^TEST(?:_F|_P)?\((\w+), (\w+)\)", re.MULTILINE)
NAMED_TEST = re.compile(r"`(\w+\.[A-Z]\w+)`")
DRAWING = re.compile(r"^// {3,}.*(?:->|[|\\/])", re.MULTILINE)


def check_licenses(files: Files) -> list[Finding]:
    sources = dict(in_folders(files, (*FOLDERS, "CMakeLists.txt"), ""))
    return [
        Finding(path, 1, "the file has no SPDX line", f"begin it with a comment '{LICENSE}'")
        for path, text in sources.items()
        if not any(LICENSE in line for line in text.split("\n")[:2])
    ]


def check_width(path: str, text: str) -> list[Finding]:
    """Finds lines beyond the last column, except tables and links, which cannot be wrapped."""
    findings = []
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > COLUMNS and not re.match(r"\s*\|", line) and not re.search(r"\]\(|https?://", line):
            findings.append(Finding(path, number, f"the line has {len(line)} columns", f"wrap it at {COLUMNS}"))
    return findings


def check_source_widths(files: Files) -> list[Finding]:
    """clang-format leaves comments as they are, since some are drawings."""
    sources = in_folders(files, FOLDERS, ".cc", ".h")
    return [finding for path, text in sources for finding in check_width(path, text)]


def check_documents(files: Files) -> list[Finding]:
    documents = {path: text for path, text in files.items() if path.startswith("docs/")}
    if not documents:  # the README is split into docs/ first
        return []
    readme = files.get("README.md", "")
    findings = [finding for path, text in documents.items() for finding in check_width(path, text)]
    findings += check_width("README.md", readme)
    if (lines := readme.count("\n")) > README_LINES:
        what = f"the README has {lines} lines, more than {README_LINES}"
        findings.append(Finding("README.md", README_LINES + 1, what, "move details to docs/"))
    return findings


def check_promises(files: Files) -> list[Finding]:
    """Every test that SECURITY.md names exists, and every row of its tables names one."""
    tests = {f"{suite}.{name}" for path, text in files.items() if path.startswith("tests/") for suite, name in TEST.findall(text)}
    findings = []
    for number, line in enumerate(files.get("SECURITY.md", "").split("\n"), 1):
        named = NAMED_TEST.findall(line)
        if re.match(r"\| (?!-).*\|$", line) and not line.endswith("| test |") and not named:
            findings.append(Finding("SECURITY.md", number, "the row names no test", "name the test that holds it"))
        for name in named:
            if name not in tests:
                findings.append(Finding("SECURITY.md", number, f"there is no test {name}", "name a test that holds it"))
    return findings


def check_drawings(files: Files) -> list[Finding]:
    """Every file of a rule opens with a drawing of the graph before and after.

    Clean-up needs none: it folds, merges or removes nodes whatever they are.
    """
    findings = []
    for path, text in files.items():
        if not re.match("runtime/optimizer/rules/(?!cleanup/)", path) or not RULE.search(text):
            continue
        if not DRAWING.search(text.partition("\nnamespace ")[0]):
            findings.append(Finding(path, 1, "the rule has no drawing", "draw the graph before -> after on top"))
    return findings

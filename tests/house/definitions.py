# SPDX-License-Identifier: Apache-2.0
"""One definition per name: no two files define a type or an alias of one name in one namespace.

The language allows only one such type (the one-definition rule); with two, the linker may take the code made for
one for the other's. Names in anonymous namespaces, functions and classes may repeat, and so may functions, which
overload. The kernels of an instruction set (HWY_NAMESPACE) may repeat short aliases of its vectors: an alias has
no code of its own.
"""

import re
from typing import Iterator

from source import CODE, Files, Finding, in_folders

TOKEN = re.compile(
    r"""//[^\n]* | /\*.*?\*/ | ^[ \t]*\#(?:[^\n\\]|\\.)*         # comments and directives
      | R"(?P<end>\w*)\(.*?\)(?P=end)" | "(?:\\.|[^"\\\n])*"     # strings
      | \d[\w'.]* | '(?:\\.|[^'\\\n])*'                          # numbers and characters
      | (?P<token>\w+|::|[{}()<>;:=,])""",
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)
TYPES = ("struct", "class", "union", "enum")
KERNELS = "HWY_NAMESPACE"


class Scanner:
    """Walks over the tokens of a file and keeps track of the namespaces."""

    def __init__(self, text: str):
        found = [m for m in TOKEN.finditer(text) if m["token"]]
        self.text = text
        self.tokens = [m["token"] for m in found]
        self.starts = [m.start() for m in found]
        self.scopes: list[str | None] = []  # names of namespaces; None for any other block

    def next_of(self, i: int, ends: str) -> int:
        """The place of the first token from i on that is one of `ends`."""
        while i < len(self.tokens) and self.tokens[i] not in ends:
            i += 1
        return i

    def name_of_type(self, i: int) -> str | None:
        """The name if the keyword at i begins a definition, None if it begins anything else."""
        name = None
        while (i := i + 1) < len(self.tokens):
            token = self.tokens[i]
            if token == "(" and name == "alignas":
                i = self.next_of(i, ")")
            elif token == ":":
                end = self.next_of(i, "{;")
                return name if self.tokens[end : end + 1] == ["{"] else None
            elif token == "{":
                return name
            elif not re.match(r"\w", token):
                return None
            elif token not in (*TYPES, "final"):
                name = token
        return None

    def name_defined_at(self, i: int) -> str | None:
        if self.tokens[i] in TYPES and self.tokens[max(i - 1, 0)] not in TYPES:
            return self.name_of_type(i)
        if self.tokens[i] == "using" and self.tokens[i + 2 : i + 3] == ["="]:
            return None if KERNELS in "::".join(self.scopes) else self.tokens[i + 1]
        return None

    def definitions(self) -> Iterator[tuple[str, int]]:
        """The full name and line of every type and alias in a named namespace."""
        opened = None
        for i, token in enumerate(self.tokens):
            if token == "namespace":
                opened = "".join(self.tokens[i + 1 : self.next_of(i, "{;=")])
            elif token == "extern":  # extern "C" { ... }
                opened = token
            elif token == "{":
                self.scopes.append(opened)
                opened = None
            elif token == "}" and self.scopes:
                self.scopes.pop()
            elif token in ";=":
                opened = None
            elif all(self.scopes) and (name := self.name_defined_at(i)):
                yield "::".join((*self.scopes, name)), self.text.count("\n", 0, self.starts[i]) + 1


def check(files: Files) -> list[Finding]:
    first: dict[str, tuple[str, int]] = {}
    findings = []
    for path, text in in_folders(files, CODE, ".cc", ".h"):
        for name, line in Scanner(text).definitions():
            other, other_line = first.setdefault(name, (path, line))
            if other != path:
                instead = "rename one of them, or put it into an anonymous namespace of its .cc file"
                findings.append(Finding(path, line, f"{name} is also defined at {other}:{other_line}", instead))
    return findings

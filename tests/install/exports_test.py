# SPDX-License-Identifier: Apache-2.0
"""libattnrun.so exports attnrun's public names and nothing else.

usage: exports_test.py PREFIX

PREFIX is where attnrun is installed.
"""

import re
import subprocess
import sys
import unittest
from pathlib import Path

PREFIX = Path()


def output_of(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def library() -> Path:
    return next(PREFIX.glob("lib*/**/libattnrun.so.0"))


def symbols() -> dict[str, str]:
    """The exported names without parameters, demangled, and the version that each has."""
    lines = output_of("nm", "-D", "-C", "--defined-only", "--with-symbol-versions", str(library())).splitlines()
    found = {}
    for line in lines:
        _, kind, name = line.split(" ", 2)
        if kind != "A":  # the names of the versions themselves
            name, _, version = name.partition("@@")
            found[name] = version
    return found


def headers() -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in (PREFIX / "include/attnrun").glob("*.h")}


def marked(text: str) -> list[str]:
    """The functions and classes that a header marks as exported."""
    functions = re.findall(r"^ *ATTNRUN_EXPORT [^;{]*?(\w+)(?:<[\w:<>]+>)?\(", text, re.MULTILINE)
    return functions + re.findall(r"^class ATTNRUN_EXPORT (\w+)", text, re.MULTILINE)


class ExportsTest(unittest.TestCase):
    def test_c_functions_are_those_of_the_header(self) -> None:
        declared = set(re.findall(r"ATTNRUN_EXPORT [^;]*?\b(attnrun_\w+)\(", headers().get("c.h", "")))
        exported = {name for name, version in symbols().items() if version == "ATTNRUN_0"}
        self.assertEqual(declared, exported)

    def test_other_names_belong_to_public_classes(self) -> None:
        names = [name for name, version in symbols().items() if version != "ATTNRUN_0"]
        public = {name for text in headers().values() for name in marked(text)}
        own = re.compile(r"(?:(?:vtable|typeinfo|typeinfo name) for )?attnrun::(\w+)")
        for name in names:
            found = own.match(name.removeprefix("attnrun::DataType "))
            self.assertTrue(found, name)
            self.assertIn(found[1], public | {"PrecisionError"}, name)
            self.assertNotIn("::Impl::", name)

    def test_every_public_name_is_there(self) -> None:
        exported = " ".join(symbols())
        for header, text in headers().items():
            for name in marked(text):
                if header != "c.h":
                    self.assertRegex(exported, rf"\b{name}\b", header)

    def test_the_library_is_named_and_stays_loaded(self) -> None:
        dynamic = output_of("readelf", "--dynamic", "--wide", str(library()))
        self.assertIn("Library soname: [libattnrun.so.0]", dynamic)
        self.assertIn("NODELETE", dynamic)
        self.assertNotIn("TEXTREL", dynamic)


if __name__ == "__main__":
    PREFIX = Path(sys.argv.pop(1))
    unittest.main()

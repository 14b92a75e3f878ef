# SPDX-License-Identifier: Apache-2.0
"""libattnrun.so exports attnrun's public names and nothing else.

usage: exports_test.py PREFIX

PREFIX is where attnrun is installed.
"""

import re
import subprocess
import sys
import unittest
from collections import Counter
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


FUNCTION = re.compile(r"(?<!typename T>\n)^ATTNRUN_EXPORT [^;{]*?(\w+)(?:<[\w:<>]+>)?\(", re.MULTILINE)
UNMARKED = re.compile(
    r"^(?:class \w+ \{|(?!ATTNRUN_EXPORT|inline|constexpr|template)[A-Za-z][\w:<>, *]* \w+\([^;{]*;)", re.MULTILINE
)
CLASS = re.compile(r"^class ATTNRUN_EXPORT (\w+)", re.MULTILINE)
EXPORTED = re.compile(r"(?:(?:vtable|typeinfo|typeinfo name) for )?(?:attnrun::DataType )?attnrun::(\w+)")


C_HEADERS = ("c.h", "c_generator.h")


class ExportsTest(unittest.TestCase):
    def test_c_functions_are_those_of_the_header(self) -> None:
        text = "".join(text for header, text in headers().items() if header in C_HEADERS)
        declared = set(re.findall(r"ATTNRUN_EXPORT [^;]*?\b(attnrun_\w+)\(", text))
        exported = {name for name, version in symbols().items() if version == "ATTNRUN_0"}
        self.assertGreater(len(declared), 50)
        self.assertEqual(declared, exported)

    def test_other_names_belong_to_public_classes(self) -> None:
        names = [name for name, version in symbols().items() if version != "ATTNRUN_0"]
        text = "".join(headers().values())
        public = set(FUNCTION.findall(text) + CLASS.findall(text))
        for name in names:
            found = EXPORTED.match(name)
            self.assertTrue(found, name)
            self.assertIn(found[1], public | {"PrecisionError"}, name)
            self.assertNotIn("::Impl::", name)

    def test_every_public_function_and_class_is_there(self) -> None:
        """Functions by their number, since they overload."""
        names = [found[1] for name in symbols() if (found := EXPORTED.match(name))]
        for header, text in headers().items():
            self.assertLessEqual(set(CLASS.findall(text)), set(names), header)
        text = "".join(text for header, text in headers().items() if header not in C_HEADERS)
        functions = Counter(FUNCTION.findall(text))
        self.assertGreater(len(functions), 20)
        self.assertEqual({name: names.count(name) for name in functions}, functions)

    def test_nothing_public_is_unmarked(self) -> None:
        for header, text in headers().items():
            unmarked = UNMARKED.findall(text)
            self.assertEqual(unmarked, [], header)

    def test_the_library_is_named_and_stays_loaded(self) -> None:
        dynamic = output_of("readelf", "--dynamic", "--wide", str(library()))
        self.assertIn("Library soname: [libattnrun.so.0]", dynamic)
        self.assertIn("NODELETE", dynamic)
        self.assertNotIn("TEXTREL", dynamic)


if __name__ == "__main__":
    PREFIX = Path(sys.argv.pop(1))
    unittest.main()

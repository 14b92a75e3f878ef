# SPDX-License-Identifier: Apache-2.0
"""Tests of the checks themselves: each must find what it is there for, and nothing else."""

import unittest

import containers
import definitions
import includes
import language
import papers

FIRST = """
namespace attnrun::ops {
enum class Reduction { kNone, kAdd };
}  // namespace attnrun::ops
"""
SECOND = """
namespace attnrun {
namespace ops {
template <typename T>
struct Pair final : Base<T> {};  // struct Text {
enum class [[nodiscard]] Reduction : uint8_t { kSum = 20'000, kMean };
}  // namespace ops
}  // namespace attnrun
"""
HARMLESS = """
#define TYPE struct Reduction {
namespace attnrun::ops {
class Reduction;
enum class Reduction : int;
struct stat now = {};
struct Reduction Sum() { struct Reduction { int x; } local; return local; }
const char kText[] = "struct Reduction {"; /* struct Reduction { */
namespace {
struct Reduction {};
}  // namespace
namespace HWY_NAMESPACE {
struct Reduction {};
}
class Op { struct Reduction {}; using Pair = int; };
}  // namespace attnrun::ops
namespace attnrun::opt {
struct Reduction {};
}
"""


def whats(findings) -> list[str]:
    return [finding.what for finding in findings]


class DefinitionsTest(unittest.TestCase):
    def test_finds_two_enums_of_one_name(self):
        found = definitions.check({"ops/gather/reduction.h": FIRST, "ops/reduce/reduce.h": SECOND})
        self.assertEqual(whats(found), ["attnrun::ops::Reduction is also defined at ops/gather/reduction.h:3"])
        self.assertEqual((found[0].path, found[0].line), ("ops/reduce/reduce.h", 6))

    def test_finds_an_alias_beside_a_struct(self):
        alias = "namespace attnrun::ops {\nusing Pair = int;\n}\n"
        found = definitions.check({"ops/a.h": alias, "runtime/b.cc": SECOND})
        self.assertEqual(whats(found), ["attnrun::ops::Pair is also defined at ops/a.h:2"])

    def test_leaves_declarations_and_other_scopes(self):
        self.assertEqual(definitions.check({"ops/a.h": FIRST, "ops/b.cc": HARMLESS}), [])


class ContainersTest(unittest.TestCase):
    def test_finds_those_that_break(self):
        text = "#include <map>\n" + "".join(
            f'#include "absl/container/{name}.h"\n' for name in ("flat_hash_map", "inlined_vector", "btree_set")
        )
        found = containers.check({"ops/a.h": text, "tests/b.cc": text})
        self.assertEqual([(finding.path, finding.line) for finding in found], [("ops/a.h", 2), ("ops/a.h", 4)])


class IncludesTest(unittest.TestCase):
    def check(self, *pairs: tuple[str, str]) -> list[str]:
        files = {target if target.startswith("ops") else "runtime/" + target: "" for _, target in pairs}
        for path, target in pairs:
            files[path] = files.get(path, "") + f'#include "{target}"\n'
        return whats(includes.check(files))

    def test_accepts_arrows_down_and_beside(self):
        pairs = (("ops/matmul/a.cc", "ops/gemm/g.h"), ("ops/conv/b.cc", "core/c.h"), ("ops/pool/p.h", "ops/conv/c.h"))
        self.assertEqual(self.check(*pairs), [])

    def test_finds_an_arrow_up(self):
        (found,) = self.check(("ops/gemm/a.cc", "ops/matmul/m.h"))
        self.assertIn("ops/gemm (gemm) includes ops/matmul (op families)", found)

    def test_finds_an_arrow_aside(self):
        (found,) = self.check(("loader/a.cc", "ops/interface/op.h"))
        self.assertIn("loader (loader) includes ops/interface", found)

    def test_finds_a_circle(self):
        pairs = (("ops/a/a.h", "ops/b/b.h"), ("ops/b/b.h", "ops/c/c.h"), ("ops/c/c.h", "ops/a/a.h"))
        self.assertEqual(self.check(*pairs), ["folders include each other: ops/a -> ops/b -> ops/c -> ops/a"])

    def test_finds_a_folder_without_a_layer(self):
        self.assertEqual(self.check(("runtime/attic/a.cc", "core/c.h")), ["runtime/attic is in no layer"])


class LanguageTest(unittest.TestCase):
    def test_finds_each_beginning(self):
        text = "int x;  // Whether x\n// The rest. What\n// follows: Of it. That is so.\n// Somewhat. Often.\n"
        found = language.check({"ops/a.cc": text, "models/b.py": '"""What it is."""\n# A list: what it holds.\n'})
        self.assertEqual([finding.line for finding in found], [2, 2, 2, 1, 1])


class PapersTest(unittest.TestCase):
    def test_finds_a_file_without_a_licence(self):
        found = papers.check_licenses({"ops/a.cc": "int x;\n", "ops/b.cc": f"// {papers.LICENSE}\n", "README.md": ""})
        self.assertEqual([finding.path for finding in found], ["ops/a.cc"])

    def test_finds_long_documents_once_there_are_docs(self):
        readme = "x" * 101 + "\n" + "|" * 200 + "\n[text](" + "x" * 200 + ")\n" + "\n" * 200
        self.assertEqual(papers.check_documents({"README.md": readme}), [])
        found = papers.check_documents({"README.md": readme, "docs/a.md": "y" * 101})
        self.assertEqual([(finding.path, finding.line) for finding in found],
                         [("docs/a.md", 1), ("README.md", 1), ("README.md", 151)])

    def test_finds_a_rule_without_a_drawing(self):
        path = "runtime/optimizer/rules/a/gelu.cc"
        rule = 'namespace attnrun::opt {\nextern const Rule kGelu = {.name = "gelu"};\n}\n'
        self.assertEqual(whats(papers.check_drawings({path: rule})), ["the rule has no drawing"])
        self.assertEqual(papers.check_drawings({path: "// Gelu:\n//\n//   x -> y\n" + rule}), [])

    def test_finds_a_promise_without_a_test(self):
        tests = {"tests/a_test.cc": "TEST(ATest, Holds) {}\nTEST_P(BTest, HoldsToo) {}\n"}
        good = "| a model | test |\n|---|---|\n| reads | `ATest.Holds`, `BTest.HoldsToo` |\n"
        self.assertEqual(papers.check_promises({**tests, "SECURITY.md": good}), [])
        bad = "| reads | |\n| writes | `ATest.Falls` |\n"
        self.assertEqual(whats(papers.check_promises({**tests, "SECURITY.md": bad})),
                         ["the row names no test", "there is no test ATest.Falls"])


if __name__ == "__main__":
    unittest.main()

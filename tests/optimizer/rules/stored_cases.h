// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_OPTIMIZER_RULES_STORED_CASES_H_
#define ATTNRUN_TESTS_OPTIMIZER_RULES_STORED_CASES_H_

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"
#include "core/elements.h"
#include "ops/interface/registry.h"
#include "support/op_tester.h"
#include "support/optimizer_tester.h"

// Inputs and results of another runtime, from a file in the format that qlinear_cases.txt
// describes.
namespace attnrun::testing {

struct StoredCase {
  std::string op_type;
  std::string domain;
  AttributeMap attributes;
  std::vector<Tensor> inputs;
  std::vector<Tensor> expected;
};

template <typename T>
std::vector<T> ParseNumbers(absl::Span<const std::string> words) {
  std::vector<T> numbers(words.size());
  for (size_t i = 0; i < words.size(); ++i) {
    if constexpr (std::is_same_v<T, float>) {
      EXPECT_TRUE(absl::SimpleAtof(words[i], &numbers[i])) << words[i];
    } else {
      EXPECT_TRUE(absl::SimpleAtoi(words[i], &numbers[i])) << words[i];
    }
  }
  return numbers;
}

inline DataType ParseType(absl::string_view name) {
  for (const DataType type :
       {DataType::kFloat, DataType::kFloat16, DataType::kUint8, DataType::kInt8, DataType::kInt32,
        DataType::kInt64, DataType::kBool}) {
    if (Name(type) == name) return type;
  }
  ADD_FAILURE() << "unexpected type " << name;
  return DataType::kUndefined;
}

// Parses a tensor such as "int8[2,1] -54 -27", or "-" for one that is omitted.
inline Tensor ParseTensor(absl::Span<const std::string> words) {
  if (words[0] == "-") return Tensor();
  const std::vector<std::string> head =
      absl::StrSplit(words[0], absl::ByAnyChar("[,]"), absl::SkipEmpty());
  const DataType type = ParseType(head[0]);
  const auto shape = ParseNumbers<int64_t>(absl::MakeConstSpan(head).subspan(1));
  words.remove_prefix(1);
  if (IsFloatingPoint(type)) {
    return Converted(Make<float>(shape, ParseNumbers<float>(words)), type);
  }
  return FromInts(type, shape, ParseNumbers<int64_t>(words)).value();
}

// Parses an attribute such as "float 0.2" or "ints 2 2".
inline AttributeValue ParseAttribute(absl::Span<const std::string> words) {
  const absl::Span<const std::string> values = words.subspan(1);
  if (words[0] == "float") return ParseNumbers<float>(values)[0];
  if (words[0] == "int") return ParseNumbers<int64_t>(values)[0];
  if (words[0] == "ints") return ParseNumbers<int64_t>(values);
  EXPECT_EQ(words[0], "string");
  return values[0];
}

inline void ParseLine(absl::string_view line, std::vector<StoredCase>& cases) {
  const std::vector<std::string> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
  const absl::Span<const std::string> rest = absl::MakeConstSpan(words).subspan(1);
  if (line[0] != ' ') {
    const size_t dot = line.rfind('.');
    const bool standard = dot == absl::string_view::npos;
    cases.push_back({std::string(standard ? line : line.substr(dot + 1)),
                     std::string(standard ? "" : line.substr(0, dot)),
                     {},
                     {},
                     {}});
  } else if (words[0] == "attribute") {
    cases.back().attributes[rest[0]] = ParseAttribute(rest.subspan(1));
  } else {
    EXPECT_TRUE(words[0] == "input" || words[0] == "output") << line;
    (words[0] == "input" ? cases.back().inputs : cases.back().expected)
        .push_back(ParseTensor(rest));
  }
}

// The cases of a group.
inline std::vector<StoredCase> ReadStoredCases(const std::string& path, const std::string& group) {
  std::ifstream file(path);
  std::vector<StoredCase> cases;
  std::string current;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    if (line[0] == '[') {
      current = line.substr(1, line.size() - 2);
    } else if (current == group) {
      ParseLine(line, cases);
    }
  }
  return cases;
}

// Integers may differ by one where a number lies halfway between two of them. Floats are sums of up
// to 20 products of order 1, then a softmax, a norm or a few steps of an LSTM. Numbers of 16 bits
// are rounded once here, and several times by the other runtime.
inline void ExpectAlike(const Tensor& actual, const Tensor& expected) {
  const bool whole = IsInteger(expected.type());
  const bool narrow = expected.type() == DataType::kFloat16;
  const double tolerance = whole ? 1 : (narrow ? 4 : 100) * Epsilon(expected.type());
  ASSERT_EQ(actual.type(), expected.type());
  ASSERT_EQ(actual.shape(), expected.shape());
  const std::vector<double> numbers = ToDoubles(actual).value();
  const std::vector<double> wanted = ToDoubles(expected).value();
  for (size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_NEAR(numbers[i], wanted[i],
                tolerance * (whole ? 1 : std::max(1.0, std::fabs(wanted[i]))))
        << "element " << i;
  }
}

inline void CheckReference(const StoredCase& c) {
  OpTester op(c.op_type, c.domain.empty() ? 20 : 1, c.domain);
  for (const auto& [name, value] : c.attributes) op.Attribute(name, value);
  for (const Tensor& input : c.inputs) op.Input(input);
  op.Outputs(static_cast<int>(c.expected.size()));
  const auto results = op.Reference();
  ASSERT_TRUE(results.ok()) << results.status();
  for (size_t i = 0; i < c.expected.size(); ++i) {
    if (c.expected[i].defined()) ExpectAlike((*results)[i], c.expected[i]);
  }
}

inline Value* InputLike(GraphBuilder& b, const Tensor& x) {
  switch (x.rank()) {
    case 0:
      return b.Input("x", x.type(), {});
    case 1:
      return b.Input("x", x.type(), {x.dim(0)});
    case 2:
      return b.Input("x", x.type(), {x.dim(0), x.dim(1)});
    case 3:
      return b.Input("x", x.type(), {x.dim(0), x.dim(1), x.dim(2)});
    default:
      return b.Input("x", x.type(), {x.dim(0), x.dim(1), x.dim(2), x.dim(3)});
  }
}

// The first input is a graph input, the others are constants.
inline void CheckRewrite(const StoredCase& c) {
  OptimizerTester test([&](GraphBuilder& b) {
    std::vector<Value*> inputs;
    for (const Tensor& input : c.inputs) {
      if (!input.defined()) {
        inputs.push_back(nullptr);
      } else if (inputs.empty()) {
        inputs.push_back(InputLike(b, input));
      } else {
        inputs.push_back(b.Constant(absl::StrCat("c", inputs.size()), input));
      }
    }
    const std::string domain = c.domain.empty() ? "" : absl::StrCat(c.domain, "::");
    const int count = static_cast<int>(c.expected.size());
    const std::vector<Value*> outputs =
        b.Ops(absl::StrCat(domain, c.op_type), count, inputs, c.attributes);
    for (int i = 0; i < count; ++i) {
      if (c.expected[i].defined()) b.Output(outputs[i]);
    }
  });
  test.Feed("x", c.inputs[0]);
  const ops::OpDef* def = ops::OpRegistry::Get().Find(c.domain, c.op_type);
  EXPECT_EQ(test.Count(absl::StrCat(c.domain, c.domain.empty() ? "" : ".", c.op_type)),
            def->has_body() ? 0 : 1);
  const bool narrow = c.expected[0].type() == DataType::kFloat16;
  test.ExpectSameResults(narrow ? 8 * Epsilon(DataType::kFloat16) : 100 * kEpsilon);
}

// Checks the reference code and the rewritten graph on the cases of a group.
inline void CheckStoredCases(const std::string& path, const std::string& group) {
  const std::vector<StoredCase> cases = ReadStoredCases(path, group);
  EXPECT_FALSE(cases.empty()) << group;
  for (const StoredCase& c : cases) {
    SCOPED_TRACE(c.op_type);
    CheckReference(c);
    CheckRewrite(c);
  }
}

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_OPTIMIZER_RULES_STORED_CASES_H_

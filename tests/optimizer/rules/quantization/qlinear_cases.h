// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_OPTIMIZER_RULES_QUANTIZATION_QLINEAR_CASES_H_
#define ATTNRUN_TESTS_OPTIMIZER_RULES_QUANTIZATION_QLINEAR_CASES_H_

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"
#include "core/elements.h"
#include "support/op_tester.h"

// Reads qlinear_cases.txt, which describes its format.
namespace attnrun::testing {

struct QLinearCase {
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
       {DataType::kFloat, DataType::kUint8, DataType::kInt8, DataType::kInt32, DataType::kBool}) {
    if (Name(type) == name) return type;
  }
  ADD_FAILURE() << "unexpected type " << name;
  return DataType::kUndefined;
}

// Parses a tensor such as "int8[2,1] -54 -27", or "-" for an omitted input.
inline Tensor ParseTensor(absl::Span<const std::string> words) {
  if (words[0] == "-") return Tensor();
  const std::vector<std::string> head =
      absl::StrSplit(words[0], absl::ByAnyChar("[,]"), absl::SkipEmpty());
  const DataType type = ParseType(head[0]);
  const auto shape = ParseNumbers<int64_t>(absl::MakeConstSpan(head).subspan(1));
  words.remove_prefix(1);
  if (type == DataType::kFloat) return Make<float>(shape, ParseNumbers<float>(words));
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

inline void ParseLine(absl::string_view line, std::vector<QLinearCase>& cases) {
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
inline std::vector<QLinearCase> ReadQLinearCases(const std::string& group) {
  std::ifstream file(ATTNRUN_QLINEAR_CASES);
  std::vector<QLinearCase> cases;
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

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_OPTIMIZER_RULES_QUANTIZATION_QLINEAR_CASES_H_

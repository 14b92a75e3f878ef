// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_TEXT_STRINGS_H_
#define ATTNRUN_OPS_TEXT_STRINGS_H_

#include <string>
#include <vector>

#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// ONNX StringConcat-20 (x, y): the strings of x, each followed by that of y; x and y broadcast.
class StringConcat final : public Op {
 public:
  explicit StringConcat(AttributeReader& /*attributes*/) {}

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
};

// ONNX StringSplit-20 (x) -> parts [.., n], counts int64 like x: each string cut at `delimiter`,
// or, without one, at runs of white space, of which those at its ends are dropped. The first
// `maxsplit` delimiters count; the rest of the string is the last part. n is the greatest count;
// shorter rows end in empty strings.
class StringSplit final : public Op {
 public:
  explicit StringSplit(AttributeReader& attributes)
      : delimiter_(attributes.String("delimiter", "")),
        most_(attributes.Get<int64_t>("maxsplit")) {}

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;

 private:
  std::vector<std::string> Split(const std::string& text) const;

  const std::string delimiter_;
  const std::optional<int64_t> most_;
};

// ONNX StringNormalizer-10 (x [C] or [1, C]): the strings that are not among `stopwords`, compared
// with or without case, and in lower or upper case if `case_change_action` says so. One empty
// string if none are left. `locale` is ignored: letters are those of Unicode.
class StringNormalizer final : public Op {
 public:
  explicit StringNormalizer(AttributeReader& attributes);

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;

 private:
  enum class Case { kKept, kLower, kUpper };
  const Case case_;
  const bool case_matters_;
  std::vector<std::string> stop_words_;
};

// ONNX RegexFullMatch-20 (x) -> bool like x: true if the whole string matches `pattern`, an
// expression of RE2.
class RegexFullMatch final : public Op {
 public:
  explicit RegexFullMatch(AttributeReader& attributes)
      : pattern_(attributes.String("pattern", "")) {}

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;

 private:
  const std::string pattern_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_TEXT_STRINGS_H_

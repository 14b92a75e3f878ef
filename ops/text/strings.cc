// SPDX-License-Identifier: Apache-2.0
#include "ops/text/strings.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "core/status.h"
#include "ops/elementwise/broadcast_reference.h"
#include "ops/elementwise/infer.h"
#include "ops/interface/infer_rules.h"
#include "ops/interface/type_set.h"
#include "ops/text/utf8.h"

namespace attnrun::ops {
namespace {

// A chain of nodes that each double their strings would fill any memory, which no allocator counts.
constexpr size_t kMostBytes = size_t{1} << 30;

// Output i of these strings.
absl::Status SetStrings(OpContext& context, int i, absl::Span<const int64_t> shape,
                        std::vector<std::string> strings) {
  ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, context.AllocateOutput(i, DataType::kString, shape));
  std::move(strings.begin(), strings.end(), y->mutable_data<std::string>());
  return absl::OkStatus();
}

}  // namespace

absl::Status StringConcat::Reference(OpContext& context) const {
  ATTNRUN_RETURN_IF_ERROR(CheckType(context, 0, kStrings));
  ATTNRUN_RETURN_IF_ERROR(CheckType(context, 1, kStrings));
  ATTNRUN_ASSIGN_OR_RETURN(const Shape shape, BroadcastInputShapes(context));
  const std::vector<int64_t> x = BroadcastIndices(context.input(0).shape(), shape);
  const std::vector<int64_t> y = BroadcastIndices(context.input(1).shape(), shape);
  std::vector<std::string> strings;
  size_t bytes = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    strings.push_back(absl::StrCat(context.input(0).data<std::string>()[x[i]],
                                   context.input(1).data<std::string>()[y[i]]));
    bytes += strings.back().size();
    if (bytes > kMostBytes) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the strings are longer than ", kMostBytes, " bytes together"));
    }
  }
  return SetStrings(context, 0, shape, std::move(strings));
}

void StringConcat::Infer(InferContext& context) const {
  InferBroadcast(context, DataType::kString);
}

std::vector<std::string> StringSplit::Split(const std::string& text) const {
  std::vector<std::string> parts;
  const auto is_full = [&] { return most_ && static_cast<int64_t>(parts.size()) >= *most_; };
  if (!delimiter_.empty()) {
    size_t begin = 0;
    for (size_t end = text.find(delimiter_); end != std::string::npos && !is_full();
         end = text.find(delimiter_, begin)) {
      parts.push_back(text.substr(begin, end - begin));
      begin = end + delimiter_.size();
    }
    parts.push_back(text.substr(begin));
    return parts;
  }
  absl::string_view rest = absl::StripAsciiWhitespace(text);
  while (!rest.empty()) {
    const auto space = std::find_if(rest.begin(), rest.end(),
                                    [](unsigned char c) { return absl::ascii_isspace(c); });
    const size_t length = is_full() ? rest.size() : space - rest.begin();
    parts.emplace_back(rest.substr(0, length));
    rest = absl::StripLeadingAsciiWhitespace(rest.substr(length));
  }
  return parts;
}

absl::Status StringSplit::Reference(OpContext& context) const {
  ATTNRUN_RETURN_IF_ERROR(CheckType(context, 0, kStrings));
  const Tensor& x = context.input(0);
  std::vector<std::vector<std::string>> rows;
  std::vector<int64_t> counts;
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    rows.push_back(Split(x.data<std::string>()[i]));
    counts.push_back(static_cast<int64_t>(rows.back().size()));
  }
  Shape shape = x.shape();
  shape.push_back(counts.empty() ? 0 : *std::max_element(counts.begin(), counts.end()));
  ATTNRUN_ASSIGN_OR_RETURN(Tensor parts,
                           Tensor::Allocate(DataType::kString, shape, context.allocator()));
  for (size_t i = 0; i < rows.size(); ++i) {
    std::move(rows[i].begin(), rows[i].end(),
              parts.mutable_data<std::string>() + static_cast<int64_t>(i) * shape.back());
  }
  ATTNRUN_ASSIGN_OR_RETURN(Tensor found,
                           FromInts(DataType::kInt64, x.shape(), counts, context.allocator()));
  context.SetOutput(0, std::move(parts));
  context.SetOutput(1, std::move(found));
  return absl::OkStatus();
}

void StringSplit::Infer(InferContext& context) const {
  std::optional<Dims> dims = context.input(0).dims;
  context.SetOutput(1, {DataType::kInt64, dims, std::nullopt});
  if (dims.has_value()) dims->push_back(SymInt::Unknown());
  context.SetOutput(0, {DataType::kString, std::move(dims), std::nullopt});
}

StringNormalizer::StringNormalizer(AttributeReader& attributes)
    : case_([&] {
        const std::string action =
            attributes.OneOf("case_change_action", "NONE", {"NONE", "LOWER", "UPPER"});
        return action == "NONE" ? Case::kKept : action == "LOWER" ? Case::kLower : Case::kUpper;
      }()),
      case_matters_(attributes.Int("is_case_sensitive", 0) != 0) {
  attributes.Ignore("locale");
  const auto words = attributes.Get<std::vector<std::string>>("stopwords");
  for (const std::string& word : words.value_or(std::vector<std::string>())) {
    stop_words_.push_back(case_matters_ ? word : LowerCase(word));
  }
  std::sort(stop_words_.begin(), stop_words_.end());
}

absl::Status StringNormalizer::Reference(OpContext& context) const {
  ATTNRUN_RETURN_IF_ERROR(CheckType(context, 0, kStrings));
  const Tensor& x = context.input(0);
  if (x.rank() != 1 && (x.rank() != 2 || x.dim(0) != 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected strings [C] or [1,C], but found ", TypeAndShape(x)));
  }
  std::vector<std::string> kept;
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    const std::string& word = x.data<std::string>()[i];
    const std::string compared = case_matters_ ? word : LowerCase(word);
    if (std::binary_search(stop_words_.begin(), stop_words_.end(), compared)) continue;
    kept.push_back(case_ == Case::kKept    ? word
                   : case_ == Case::kLower ? LowerCase(word)
                                           : UpperCase(word));
  }
  if (kept.empty()) kept.emplace_back();
  Shape shape = x.shape();
  shape.back() = static_cast<int64_t>(kept.size());
  return SetStrings(context, 0, shape, std::move(kept));
}

void StringNormalizer::Infer(InferContext& context) const {
  std::optional<Dims> dims = context.input(0).dims;
  if (dims.has_value() && !dims->empty()) dims->back() = SymInt::Unknown();
  context.SetOutput(0, {DataType::kString, std::move(dims), std::nullopt});
}

}  // namespace attnrun::ops

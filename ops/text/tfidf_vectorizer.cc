// SPDX-License-Identifier: Apache-2.0
#include "ops/text/tfidf_vectorizer.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "core/interrupt.h"
#include "core/status.h"
#include "ops/interface/infer_rules.h"

namespace attnrun::ops {
namespace {

// No vector is longer; places are added up.
constexpr int64_t kMostPlaces = int64_t{1} << 40;

}  // namespace

TfIdfVectorizer::TfIdfVectorizer(AttributeReader& attributes)
    : most_skipped_(attributes.Required<int64_t>("max_skip_count")),
      shortest_(attributes.Required<int64_t>("min_gram_length")),
      longest_(attributes.Required<int64_t>("max_gram_length")),
      places_(attributes.Required<std::vector<int64_t>>("ngram_indexes")) {
  const std::string mode = attributes.OneOf("mode", "TF", {"TF", "IDF", "TFIDF"});
  counts_ = mode != "IDF";
  const bool weighs = mode != "TF";
  const auto starts = attributes.Required<std::vector<int64_t>>("ngram_counts");
  const auto weights = attributes.Get<std::vector<float>>("weights");
  std::vector<int64_t> elements = attributes.Ints("pool_int64s");
  const auto strings = attributes.Get<std::vector<std::string>>("pool_strings");
  for (const std::string& word : strings.value_or(std::vector<std::string>())) {
    elements.push_back(words_.try_emplace(word, static_cast<int64_t>(words_.size())).first->second);
  }
  status_ = ReadPool(starts, elements);
  if (!status_.ok() || !weighs || !weights.has_value()) return;
  if (weights->size() != places_.size()) {
    status_ = absl::InvalidArgumentError(absl::StrCat(
        "expected ", places_.size(), " weights, one for each n-gram, but found ", weights->size()));
    return;
  }
  for (size_t i = 0; i < places_.size(); ++i) weights_[places_[i]] = (*weights)[i];
}

absl::Status TfIdfVectorizer::ReadPool(const std::vector<int64_t>& starts,
                                       const std::vector<int64_t>& elements) {
  if (places_.empty() || shortest_ < 1 || longest_ < shortest_ || most_skipped_ < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected n-grams of 1 <= min_gram_length <= max_gram_length elements and a "
                     "max_skip_count of at least 0, but found ",
                     places_.size(), " n-grams of ", shortest_, " to ", longest_, " elements and ",
                     most_skipped_));
  }
  const auto [least, most] = std::minmax_element(places_.begin(), places_.end());
  if (*least < 0 || *most >= kMostPlaces) {
    return absl::InvalidArgumentError(absl::StrCat("expected ngram_indexes from 0 to ",
                                                   kMostPlaces - 1, ", but found ",
                                                   *least < 0 ? *least : *most));
  }
  width_ = *most + 1;
  size_t number = 0;
  for (size_t i = 0; i < starts.size(); ++i) {
    const auto length = static_cast<int64_t>(i) + 1;
    const auto total = static_cast<int64_t>(elements.size());
    const int64_t end = i + 1 < starts.size() ? starts[i + 1] : total;
    if (starts[i] < 0 || starts[i] > end || end > total || (end - starts[i]) % length != 0) {
      return absl::InvalidArgumentError(absl::StrCat("expected ngram_counts that cut the pool of ",
                                                     total, " elements into ", length,
                                                     "-grams, but found ", starts[i], " to ", end));
    }
    for (int64_t at = starts[i]; at < end; at += length, ++number) {
      if (number >= places_.size()) {
        return absl::InvalidArgumentError(
            absl::StrCat("expected an index for each n-gram, but found ", places_.size()));
      }
      if (length < shortest_ || length > longest_) continue;
      pool_[Gram(elements.begin() + at, elements.begin() + at + length)] = places_[number];
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<int64_t>> TfIdfVectorizer::Numbers(const Tensor& x) const {
  if (!IsString()) return ToInts(x);
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<std::string> strings, ToStrings(x));
  std::vector<int64_t> numbers;
  for (const std::string& text : strings) {
    const auto word = words_.find(text);
    numbers.push_back(word == words_.end() ? -1 : word->second);
  }
  return numbers;
}

void TfIdfVectorizer::CountRow(const std::vector<int64_t>& row, double* counts) const {
  const auto size = static_cast<int64_t>(row.size());
  for (int64_t length = shortest_; length <= std::min(longest_, size); ++length) {
    const int64_t skips = length == 1 ? 0 : std::min(most_skipped_, size);
    for (int64_t step = 1; step <= skips + 1 && (length - 1) * step < size; ++step) {
      for (int64_t first = 0; first + (length - 1) * step < size && !Interrupted(); ++first) {
        Gram gram;
        for (int64_t i = 0; i < length; ++i) gram.push_back(row[first + i * step]);
        const auto found = pool_.find(gram);
        if (found != pool_.end()) ++counts[found->second];
      }
    }
  }
}

absl::Status TfIdfVectorizer::Reference(OpContext& context) const {
  ATTNRUN_RETURN_IF_ERROR(status_);
  const Tensor& x = context.input(0);
  const bool fits = IsString() ? x.type() == DataType::kString
                               : x.type() == DataType::kInt32 || x.type() == DataType::kInt64;
  if (!fits || x.rank() < 1 || x.rank() > 2) {
    return absl::InvalidArgumentError(absl::StrCat("expected ", IsString() ? "strings" : "integers",
                                                   " [C] or [N,C], as the pool has, but found ",
                                                   TypeAndShape(x)));
  }
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<int64_t> numbers, Numbers(x));
  const int64_t rows = x.rank() == 1 ? 1 : x.dim(0);
  const int64_t length = x.shape().back();
  const Shape shape = x.rank() == 1 ? Shape{width_} : Shape{rows, width_};
  // The memory limit applies to the output before anything else is as large.
  ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, context.AllocateOutput(0, DataType::kFloat, shape));
  std::vector<double> counts(y->num_elements());
  for (int64_t row = 0; row < rows; ++row) {
    const auto begin = numbers.begin() + row * length;
    CountRow({begin, begin + length}, counts.data() + row * width_);
  }
  for (double& count : counts) {
    if (!counts_) count = std::min(count, 1.0);
  }
  for (const auto& [place, weight] : weights_) {
    for (int64_t row = 0; row < rows; ++row) counts[row * width_ + place] *= weight;
  }
  ATTNRUN_ASSIGN_OR_RETURN(*y, FromDoubles(DataType::kFloat, shape, counts, context.allocator()));
  return absl::OkStatus();
}

void TfIdfVectorizer::Infer(InferContext& context) const {
  std::optional<Dims> dims = context.input(0).dims;
  if (dims.has_value() && !dims->empty() && status_.ok()) {
    dims->back() = width_;
  } else {
    dims.reset();
  }
  context.SetOutput(0, {DataType::kFloat, std::move(dims), std::nullopt});
}

void TfIdfVectorizer::Axes(AxesContext& context) const {
  const std::optional<Dims>& x = context.input(0).dims;
  if (x.has_value() && x->size() == 2) context.Add({{0, 0}}, {{0, 0}});
}

}  // namespace attnrun::ops

// SPDX-License-Identifier: Apache-2.0
#include "ops/generate/random.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>

#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "core/status.h"

namespace attnrun::ops {
namespace {

using Generator = std::mt19937_64;

// FNV-1a (Fowler, Noll, Vo): the same on every machine, unlike std::hash.
uint64_t HashOf(absl::string_view text) {
  uint64_t hash = 14695981039346656037ULL;
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 1099511628211ULL;
  return hash;
}

// Sets output 0 to a tensor of `type` whose elements are successive results of draw().
template <typename Draw>
absl::Status SetDrawn(OpContext& context, DataType type, absl::Span<const int64_t> shape,
                      Draw draw) {
  // Allocate reports an absurdly large shape as an error; a vector would not.
  ATTNRUN_ASSIGN_OR_RETURN(Tensor drawn,
                           Tensor::Allocate(DataType::kDouble, shape, context.allocator()));
  auto* values = drawn.mutable_data<double>();
  const auto count = static_cast<size_t>(drawn.num_elements());
  std::generate_n(values, count, draw);
  ATTNRUN_ASSIGN_OR_RETURN(
      Tensor y,
      FromDoubles(type, shape, absl::Span<const double>(values, count), context.allocator()));
  context.SetOutput(0, std::move(y));
  return absl::OkStatus();
}

}  // namespace

uint64_t ReadSeed(AttributeReader& attributes) {
  if (attributes.Has("seed")) return std::bit_cast<uint32_t>(attributes.Float("seed", 0));
  return HashOf(attributes.node().name());
}

RandomOp::RandomOp(AttributeReader& attributes, bool normal, bool like)
    : normal_(normal),
      like_(like),
      type_(attributes.ElementType("dtype", like ? DataType::kUndefined : DataType::kFloat)),
      a_(normal ? attributes.Float("mean", 0) : attributes.Float("low", 0)),
      b_(normal ? attributes.Float("scale", 1) : attributes.Float("high", 1)),
      seed_(ReadSeed(attributes)) {
  if (like) return;
  const auto shape = attributes.Required<std::vector<int64_t>>("shape");
  shape_.assign(shape.begin(), shape.end());
}

absl::Status RandomOp::Reference(OpContext& context) const {
  const Shape& shape = ShapeOf(context);
  const DataType type = TypeOf(context);
  if (!IsFloatingPoint(type)) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected a floating-point dtype, but found ", Name(type)));
  }
  Generator generator(seed_);
  if (normal_) {
    std::normal_distribution<double> normal(0, 1);
    return SetDrawn(context, type, shape, [&] { return a_ + b_ * normal(generator); });
  }
  return SetDrawn(context, type, shape,
                  [&] { return a_ + (b_ - a_) * std::generate_canonical<double, 53>(generator); });
}

absl::Status Bernoulli::Reference(OpContext& context) const {
  const Tensor& x = context.input(0);
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> probabilities, ToDoubles(x));
  Generator generator(seed_);
  size_t i = 0;
  return SetDrawn(context, type_ == DataType::kUndefined ? x.type() : type_, x.shape(), [&] {
    return std::generate_canonical<double, 53>(generator) < probabilities[i++] ? 1.0 : 0.0;
  });
}

absl::Status Multinomial::Reference(OpContext& context) const {
  const Tensor& x = context.input(0);
  if (x.rank() != 2 || x.dim(1) == 0 || sample_size_ < 1 ||
      (type_ != DataType::kInt32 && type_ != DataType::kInt64)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "expected x [B,C] with C > 0, sample_size > 0 and dtype int32 or int64, but found ",
        TypeAndShape(x), ", ", sample_size_, " and ", Name(type_)));
  }
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> logarithms, ToDoubles(x));
  const int64_t classes = x.dim(1);
  Generator generator(seed_);
  std::vector<double> sums(x.num_elements() == 0 ? 0 : classes);
  int64_t drawn = 0;
  return SetDrawn(context, type_, {x.dim(0), sample_size_}, [&] {
    const int64_t row = drawn / sample_size_;
    if (drawn++ % sample_size_ == 0) {
      const double* logs = logarithms.data() + row * classes;
      const double peak = *std::max_element(logs, logs + classes);
      double sum = 0;
      for (int64_t c = 0; c < classes; ++c) sums[c] = sum += std::exp(logs[c] - peak);
    }
    const double point = std::generate_canonical<double, 53>(generator) * sums.back();
    const auto found = std::upper_bound(sums.begin(), sums.end(), point) - sums.begin();
    return static_cast<double>(std::min<int64_t>(found, classes - 1));
  });
}

}  // namespace attnrun::ops

// SPDX-License-Identifier: Apache-2.0
#include "ops/pool/pool.h"

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "ops/interface/families.h"

namespace attnrun::ops {
namespace {

WindowAttributes ReadWindow(AttributeReader& attributes, Pooling pooling) {
  const int version = attributes.version();
  bool has_dilations = version >= 18;
  bool has_ceil_mode = version >= 18;
  if (pooling == Pooling::kMax) has_dilations = has_ceil_mode = version >= 10;
  if (pooling == Pooling::kAverage) {
    has_dilations = version >= 19;
    has_ceil_mode = version >= 10;
  }
  WindowAttributes window = WindowAttributes::Read(attributes, has_dilations, has_ceil_mode);
  window.kernel_shape = attributes.Required<std::vector<int64_t>>("kernel_shape");
  return window;
}

absl::Status CheckType(Pooling pooling, const Tensor& x) {
  const bool is_float = x.type() == DataType::kFloat || x.type() == DataType::kDouble ||
                        x.type() == DataType::kFloat16 || x.type() == DataType::kBfloat16;
  const bool is_byte = x.type() == DataType::kInt8 || x.type() == DataType::kUint8;
  const bool max = pooling == Pooling::kMax;
  if (is_float || (max && is_byte)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("expected floats", max ? ", int8 or uint8" : "",
                                                 ", but found ", TypeAndShape(x)));
}

// One window over the whole image.
SlidingWindow WholeImage(absl::Span<const int64_t> input) {
  const size_t axes = input.size() - 2;
  SlidingWindow window;
  window.input.assign(input.begin() + 2, input.end());
  window.kernel = window.input;
  window.strides.assign(axes, 1);
  window.dilations.assign(axes, 1);
  window.pads_begin.assign(axes, 0);
  window.pads_end.assign(axes, 0);
  window.output.assign(axes, 1);
  return window;
}

}  // namespace

Pool::Pool(AttributeReader& attributes, Pooling pooling, bool global)
    : attributes_{.pooling = pooling, .window = std::nullopt} {
  if (!global) attributes_.window = ReadWindow(attributes, pooling);
  if (pooling == Pooling::kLp) attributes_.p = attributes.Int("p", 2);
  if (pooling == Pooling::kAverage && !global) {
    attributes_.count_include_pad = attributes.Int("count_include_pad", 0) != 0;
  }
  if (pooling == Pooling::kMax && !global && attributes.version() >= 8) {
    attributes_.column_major = attributes.Int("storage_order", 0) != 0;
  }
}

absl::StatusOr<PoolShape> ResolvePool(const PoolAttributes& attributes, const Tensor& x) {
  ATTNRUN_RETURN_IF_ERROR(CheckType(attributes.pooling, x));
  if (attributes.p < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected p of at least 1, but found ", attributes.p));
  }
  PoolShape shape;
  if (attributes.window.has_value()) {
    ATTNRUN_ASSIGN_OR_RETURN(shape.window, ResolveWindow(*attributes.window, x.shape(),
                                                         attributes.window->kernel_shape));
  } else {
    if (x.rank() < 2) {
      return absl::InvalidArgumentError(
          absl::StrCat("expected an input [N, C, ..], but found ", TypeAndShape(x)));
    }
    shape.window = WholeImage(x.shape());
  }
  shape.output = {x.dim(0), x.dim(1)};
  ATTNRUN_ASSIGN_OR_RETURN(shape.count, NumElements(shape.output));
  ATTNRUN_ASSIGN_OR_RETURN(shape.input_size, NumElements(shape.window.input));
  ATTNRUN_ASSIGN_OR_RETURN(shape.output_size, NumElements(shape.window.output));
  shape.output.insert(shape.output.end(), shape.window.output.begin(), shape.window.output.end());
  ATTNRUN_RETURN_IF_ERROR(NumElements(shape.output).status());
  return shape;
}

void RegisterPool(OpRegistry& registry) {
  const auto add = [&registry](const char* name, Pooling pooling, bool global,
                               std::vector<int> since, int outputs) {
    registry.Register({.domain = "",
                       .name = name,
                       .since = std::move(since),
                       .inputs = {1, 1},
                       .outputs = {1, outputs},
                       .make =
                           [=](AttributeReader& attributes) {
                             return std::make_unique<Pool>(attributes, pooling, global);
                           },
                       .reference_only = pooling == Pooling::kLp});
  };
  add("MaxPool", Pooling::kMax, false, {1, 8, 10, 11, 12, 22}, 2);
  add("AveragePool", Pooling::kAverage, false, {7, 10, 11, 19, 22}, 1);
  add("LpPool", Pooling::kLp, false, {2, 11, 18, 22}, 1);
  add("GlobalMaxPool", Pooling::kMax, true, {1, 22}, 1);
  add("GlobalAveragePool", Pooling::kAverage, true, {1, 22}, 1);
  add("GlobalLpPool", Pooling::kLp, true, {2, 22}, 1);
}

}  // namespace attnrun::ops

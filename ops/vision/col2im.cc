// SPDX-License-Identifier: Apache-2.0
#include "ops/vision/col2im.h"

#include <complex>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "core/status.h"
#include "ops/interface/infer_rules.h"
#include "ops/tensors/int_input.h"

namespace attnrun::ops {
namespace {

// The sums of the blocks `columns` [images, taps, positions] in images of these windows.
template <typename T>
std::vector<T> AddBlocks(const SlidingWindow& window, int64_t images, int64_t size, int64_t taps,
                         int64_t positions, const std::vector<T>& columns) {
  std::vector<T> sums(images * size);
  for (int64_t image = 0; image < images; ++image) {
    const T* column = columns.data() + image * taps * positions;
    ForEachPosition(window, [&](const Shape& position) {
      ForEachTap(window, position, [&](int64_t tap, int64_t offset) {
        T& sum = sums[image * size + offset];
        sum = static_cast<T>(sum + column[tap * positions]);
      });
      ++column;
    });
  }
  return sums;
}

}  // namespace

WindowAttributes ReadUnpaddedWindow(AttributeReader& attributes) {
  WindowAttributes window;
  window.auto_pad = "NOTSET";
  window.strides = attributes.Ints("strides");
  window.dilations = attributes.Ints("dilations");
  window.pads = attributes.Ints("pads");
  return window;
}

absl::StatusOr<Col2Im::Blocks> Col2Im::Resolve(const OpContext& context) const {
  const Tensor& x = context.input(0);
  ATTNRUN_ASSIGN_OR_RETURN(const Shape image, ReadInts(context.input(1), "image_shape"));
  ATTNRUN_ASSIGN_OR_RETURN(const Shape block, ReadInts(context.input(2), "block_shape"));
  ATTNRUN_RETURN_IF_ERROR(NumElements(image).status());
  Shape extents = {1, 1};
  extents.insert(extents.end(), image.begin(), image.end());
  ATTNRUN_ASSIGN_OR_RETURN(const SlidingWindow window, ResolveWindow(window_, extents, block));
  ATTNRUN_ASSIGN_OR_RETURN(const int64_t taps, NumElements(block));
  ATTNRUN_ASSIGN_OR_RETURN(const int64_t positions, NumElements(window.output));
  if (x.rank() != 3 || x.dim(1) % taps != 0 || x.dim(2) != positions) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected x [N,C*", taps, ",", positions, "], but found ", TypeAndShape(x)));
  }
  Shape shape = {x.dim(0), x.dim(1) / taps};
  shape.insert(shape.end(), image.begin(), image.end());
  return Blocks{window, taps, shape};
}

absl::Status Col2Im::Reference(OpContext& context) const {
  const Tensor& x = context.input(0);
  ATTNRUN_ASSIGN_OR_RETURN(const Blocks blocks, Resolve(context));
  const auto& [window, taps, shape] = blocks;
  // The memory limit applies to the output before anything else is as large.
  ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, context.AllocateOutput(0, x.type(), shape));
  ATTNRUN_ASSIGN_OR_RETURN(const int64_t size, NumElements(window.input));
  const auto add = [&](const auto& columns) {
    return AddBlocks(blocks.window, blocks.shape[0] * blocks.shape[1], size, blocks.taps, x.dim(2),
                     columns);
  };
  if (IsInteger(x.type())) {
    ATTNRUN_ASSIGN_OR_RETURN(const std::vector<int64_t> values, ToInts(x));
    // Sums wrap, which is defined for unsigned numbers.
    const std::vector<uint64_t> sums = add(std::vector<uint64_t>(values.begin(), values.end()));
    ATTNRUN_ASSIGN_OR_RETURN(
        *y, FromInts(x.type(), shape, std::vector<int64_t>(sums.begin(), sums.end()),
                     context.allocator()));
  } else if (x.type() == DataType::kComplex64 || x.type() == DataType::kComplex128) {
    ATTNRUN_ASSIGN_OR_RETURN(const std::vector<std::complex<double>> values, ToComplex(x));
    ATTNRUN_ASSIGN_OR_RETURN(*y, FromComplex(x.type(), shape, add(values), context.allocator()));
  } else {
    ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> values, ToDoubles(x));
    ATTNRUN_ASSIGN_OR_RETURN(*y, FromDoubles(x.type(), shape, add(values), context.allocator()));
  }
  return absl::OkStatus();
}

void Col2Im::Infer(InferContext& context) const {
  SetDims(context, 0, std::nullopt);
  const std::optional<std::vector<SymInt>>& image = context.input(1).contents;
  const std::optional<Dims>& columns = context.input(0).dims;
  if (!image.has_value() || !columns.has_value() || columns->size() != 3) return;
  const Dims& x = *columns;
  const std::optional<std::vector<int64_t>> block = KnownInts(context, 2);
  int64_t taps = 0;
  if (block.has_value()) taps = NumElements(*block).value_or(0);
  Dims dims = {x[0], taps > 0 ? SymInt::Quotient(x[1], taps) : SymInt::Unknown()};
  dims.insert(dims.end(), image->begin(), image->end());
  SetDims(context, 0, std::move(dims));
}

}  // namespace attnrun::ops

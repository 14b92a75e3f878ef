// SPDX-License-Identifier: Apache-2.0
#include "ops/quantization/nbit/gather_block_quantized.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "core/div_ceil.h"
#include "core/elements.h"
#include "core/status.h"
#include "ops/interface/axis_rules.h"
#include "ops/interface/infer_rules.h"
#include "ops/interface/type_set.h"
#include "ops/quantization/nbit/codes.h"

namespace attnrun::ops {
namespace {

constexpr TypeSet kData4 = {DataType::kInt4, DataType::kUint4};
constexpr TypeSet kScaleTypes = {DataType::kFloat, DataType::kFloat16, DataType::kBfloat16};

// Maps an axis of [-rank, rank) to [0, rank).
absl::StatusOr<size_t> AxisOf(absl::string_view name, int64_t axis, size_t rank) {
  const std::optional<size_t> known = KnownAxis(axis, rank);
  if (known.has_value()) return *known;
  return absl::InvalidArgumentError(
      absl::StrCat(name, " is ", axis, ", but data has ", rank, " axes"));
}

}  // namespace

GatherBlockQuantized::GatherBlockQuantized(AttributeReader& attributes)
    : gather_axis_(attributes.Int("gather_axis", 0)),
      quantize_axis_(attributes.Int("quantize_axis", 1)),
      block_size_(attributes.Int("block_size", 128)),
      bits_(attributes.Int("bits", 4)) {}

std::optional<int64_t> GatherBlockQuantized::Layout::Source(
    int64_t i, absl::Span<const int64_t> indices) const {
  const auto count = static_cast<int64_t>(indices.size());
  int64_t index = indices[i / inner % count];
  if (index < 0) index += axis;
  if (index < 0 || index >= axis) return std::nullopt;
  return (i / inner / count * axis + index) * inner + i % inner;
}

int64_t GatherBlockQuantized::Layout::ScaleOf(int64_t element, int64_t block_size) const {
  int64_t after = 1;
  for (size_t i = quantize_axis + 1; i < table.size(); ++i) after *= table[i];
  const int64_t extent = table[quantize_axis];
  return (element / after / extent * scales[quantize_axis] +
          element / after % extent / block_size) *
             after +
         element % after;
}

absl::Status GatherBlockQuantized::CheckTypes(const OpContext& context) const {
  if (!IsBlockSize(block_size_)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "expected block_size to be a power of two from 16 to 65536, but found ", block_size_));
  }
  if (!IsCodeWidth(bits_)) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected bits to be 2, 4 or 8, but found ", bits_));
  }
  const Tensor& data = context.input(kData);
  if (!kData4.Contains(data.type()) && data.type() != DataType::kUint8) {
    return absl::UnimplementedError(
        absl::StrCat("expected data of int4, uint4 or uint8, others are not covered, but it is ",
                     TypeAndShape(data)));
  }
  ATTNRUN_RETURN_IF_ERROR(
      CheckType(context, kIndices, TypeSet{DataType::kInt32, DataType::kInt64}));
  ATTNRUN_RETURN_IF_ERROR(CheckType(context, kScales, kScaleTypes));
  return context.has_input(kZeroPoints) ? CheckSameType(context, kData, kZeroPoints)
                                        : absl::OkStatus();
}

absl::Status GatherBlockQuantized::CheckScales(const OpContext& context,
                                               const Layout& layout) const {
  if (context.input(kScales).shape() != layout.scales) {
    return absl::InvalidArgumentError(absl::StrCat("expected scales ", ToString(layout.scales),
                                                   ", but they are ",
                                                   TypeAndShape(context.input(kScales))));
  }
  if (!context.has_input(kZeroPoints)) return absl::OkStatus();
  Shape points = layout.scales;
  if (context.input(kData).type() == DataType::kUint8) {
    points.back() = DivCeil(points.back() * bits_, 8);
  }
  if (context.input(kZeroPoints).shape() == points) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("expected zero_points ", ToString(points),
                                                 ", but they are ",
                                                 TypeAndShape(context.input(kZeroPoints))));
}

absl::StatusOr<GatherBlockQuantized::Layout> GatherBlockQuantized::Resolve(
    const OpContext& context) const {
  ATTNRUN_RETURN_IF_ERROR(CheckTypes(context));
  const Tensor& data = context.input(kData);
  Layout layout;
  layout.table = data.shape();
  ATTNRUN_ASSIGN_OR_RETURN(const size_t gather,
                           AxisOf("gather_axis", gather_axis_, layout.table.size()));
  ATTNRUN_ASSIGN_OR_RETURN(layout.quantize_axis,
                           AxisOf("quantize_axis", quantize_axis_, layout.table.size()));
  layout.is_signed = data.type() == DataType::kInt4;
  if (data.type() == DataType::kUint8) {
    if (gather != 0 || layout.quantize_axis == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("expected gather_axis 0 and another quantize_axis for uint8, but found ",
                       gather_axis_, " and ", quantize_axis_));
    }
    layout.bits = static_cast<int>(bits_);
    const int64_t per_byte = 8 / bits_;
    if (layout.table.back() > INT64_MAX / per_byte) {
      return absl::InvalidArgumentError("data has more codes than 64 bits can count");
    }
    layout.table.back() *= per_byte;
    ATTNRUN_RETURN_IF_ERROR(NumElements(layout.table).status());
  }
  layout.scales = layout.table;
  layout.scales[layout.quantize_axis] = DivCeil(layout.table[layout.quantize_axis], block_size_);
  ATTNRUN_RETURN_IF_ERROR(CheckScales(context, layout));
  const Shape& indices = context.input(kIndices).shape();
  for (size_t i = 0; i < layout.table.size(); ++i) {
    (i < gather ? layout.outer : i > gather ? layout.inner : layout.axis) *= layout.table[i];
    if (i == gather) {
      layout.output.insert(layout.output.end(), indices.begin(), indices.end());
    } else {
      layout.output.push_back(layout.table[i]);
    }
  }
  return layout;
}

// Element by element, since the table is much larger than the output.
absl::Status GatherBlockQuantized::Reference(OpContext& context) const {
  ATTNRUN_ASSIGN_OR_RETURN(const Layout layout, Resolve(context));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<int64_t> indices, ToInts(context.input(kIndices)));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> scales, ToDoubles(context.input(kScales)));
  ATTNRUN_ASSIGN_OR_RETURN(const int64_t count, NumElements(layout.output));
  const bool packed = context.input(kData).type() == DataType::kUint8;
  const auto number = [&](const Tensor& tensor, int64_t i) -> double {
    const int code = CodeAt(static_cast<const uint8_t*>(tensor.raw()), i, layout.bits);
    return layout.is_signed && code >= 8 ? code - 16 : code;
  };
  // Zero points are packed row by row; the last byte of a row may be used in part.
  const int64_t row = layout.scales.back();
  const int64_t padded = packed ? DivCeil(row * layout.bits, 8) * 8 / layout.bits : row;
  std::vector<double> y(count);
  for (int64_t i = 0; i < count; ++i) {
    const std::optional<int64_t> source = layout.Source(i, indices);
    if (!source.has_value()) continue;
    const int64_t scale = layout.ScaleOf(*source, block_size_);
    double zero = packed ? 1 << (layout.bits - 1) : 0;
    if (context.has_input(kZeroPoints)) {
      zero = number(context.input(kZeroPoints), scale / row * padded + scale % row);
    }
    y[i] = (number(context.input(kData), *source) - zero) * scales[scale];
  }
  ATTNRUN_ASSIGN_OR_RETURN(Tensor out, FromDoubles(context.input(kScales).type(), layout.output, y,
                                                   context.allocator()));
  context.SetOutput(0, std::move(out));
  return absl::OkStatus();
}

void GatherBlockQuantized::Infer(InferContext& context) const {
  ValueFacts y;
  y.type = context.input(kScales).type;
  const auto& data = context.input(kData).dims;
  const auto& indices = context.input(kIndices).dims;
  const std::optional<size_t> axis =
      data.has_value() ? KnownAxis(gather_axis_, data->size()) : std::nullopt;
  if (axis.has_value() && indices.has_value() && IsCodeWidth(bits_) &&
      context.input(kData).type != DataType::kUndefined) {
    Dims table = *data;
    if (context.input(kData).type == DataType::kUint8) {
      table.back() = table.back() * SymInt(8 / bits_);
    }
    y.dims.emplace(table.begin(), table.begin() + *axis);
    y.dims->insert(y.dims->end(), indices->begin(), indices->end());
    y.dims->insert(y.dims->end(), table.begin() + *axis + 1, table.end());
  }
  context.SetOutput(0, std::move(y));
}

void GatherBlockQuantized::Axes(AxesContext& context) const {
  const std::optional<size_t> axis = KnownAxis(gather_axis_, RankOf(context, kData).value_or(0));
  const size_t indices = RankOf(context, kIndices).value_or(0);
  for (size_t i = 0; axis.has_value() && i < indices; ++i) {
    context.Add({{kIndices, i}}, {{0, *axis + i}});
  }
}

}  // namespace attnrun::ops

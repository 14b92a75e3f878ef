#include "ops/block_quantized/matmul_nbits.h"

#include "absl/strings/str_cat.h"
#include "core/div_ceil.h"
#include "core/elements.h"
#include "core/status.h"
#include "ops/block_quantized/codes.h"
#include "ops/float_rows.h"

namespace attnrun {
namespace {

absl::Status Expected(absl::string_view what, const Shape& shape, const Tensor& found) {
  return absl::InvalidArgumentError(
      absl::StrCat("expected ", what, ToString(shape), ", but it is ", TypeAndShape(found)));
}

bool IsFloats(const Tensor& tensor, const Shape& shape) {
  return IsFloatOrHalf(tensor.type()) && tensor.shape() == shape;
}

}  // namespace

MatMulNBits::MatMulNBits(AttributeReader& attributes)
    : k_(attributes.Required<int64_t>("K")),
      n_(attributes.Required<int64_t>("N")),
      bits_(attributes.Int("bits", 4)),
      block_size_(attributes.Required<int64_t>("block_size")),
      prepacked_(attributes.Int("weight_prepacked", 0)) {
  attributes.Ignore("accuracy_level");
}

absl::Status MatMulNBits::CheckAttributes() const {
  if (!IsCodeWidth(bits_)) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected bits to be 2, 4 or 8, but found ", bits_));
  }
  if (!IsBlockSize(block_size_)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "expected block_size to be a power of two from 16 to 65536, but found ", block_size_));
  }
  // Beyond these no weight is in memory, and sizes would not fit 64 bits.
  constexpr int64_t kLargest = int64_t{1} << 31;
  if (k_ < 1 || n_ < 1 || k_ > kLargest || n_ > kLargest) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected K and N from 1 to 2^31, but found ", k_, " and ", n_));
  }
  if (prepacked_ != 0) {
    return absl::UnimplementedError(absl::StrCat("weight_prepacked is ", prepacked_,
                                                 ": the weights are laid out for a kind of GPU"));
  }
  return absl::OkStatus();
}

absl::Status MatMulNBits::CheckZeroPoints(const Tensor& zero_points) const {
  if (!zero_points.defined()) return absl::OkStatus();
  const bool packed = zero_points.type() == DataType::kUint8;
  const Shape shape = {n_, packed ? DivCeil(blocks() * bits_, 8) : blocks()};
  const bool fits =
      zero_points.shape() == shape || zero_points.shape() == Shape{shape[0] * shape[1]};
  if (fits && (packed || IsFloatOrHalf(zero_points.type()))) return absl::OkStatus();
  return Expected(packed ? "zero_points to be uint8" : "zero_points to be packed uint8 or floats",
                  shape, zero_points);
}

absl::Status MatMulNBits::CheckGroups(const Tensor& groups) const {
  if (!groups.defined()) return absl::OkStatus();
  if (groups.type() != DataType::kInt32 || groups.shape() != Shape{k_}) {
    return Expected("g_idx to be int32", {k_}, groups);
  }
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<int64_t> block, ToInts(groups));
  for (int64_t k = 0; k < k_; ++k) {
    if (block[k] == k / block_size_) continue;
    return absl::UnimplementedError(absl::StrCat("g_idx orders the rows of B anew: row ", k,
                                                 " is in block ", block[k], " instead of ",
                                                 k / block_size_));
  }
  return absl::OkStatus();
}

absl::Status MatMulNBits::CheckWeight(const Inputs& input) const {
  ATTNRUN_RETURN_IF_ERROR(CheckAttributes());
  const Tensor codes = input(kCodes);
  const Shape packed = {n_, blocks(), block_size_ * bits_ / 8};
  if (codes.type() != DataType::kUint8 || codes.shape() != packed) {
    return Expected("B to be uint8", packed, codes);
  }
  const Tensor scales = input(kScales);
  if (!IsFloats(scales, {n_, blocks()}) && !IsFloats(scales, {n_ * blocks()})) {
    return Expected("scales to be floats ", {n_, blocks()}, scales);
  }
  ATTNRUN_RETURN_IF_ERROR(CheckZeroPoints(input(kZeroPoints)));
  return CheckGroups(input(kGroups));
}

absl::StatusOr<Shape> MatMulNBits::Resolve(const OpContext& context) const {
  ATTNRUN_RETURN_IF_ERROR(
      CheckWeight([&](int i) { return context.has_input(i) ? context.input(i) : Tensor(); }));
  return ResolveOutput(context);
}

absl::StatusOr<Shape> MatMulNBits::ResolveOutput(const OpContext& context) const {
  const Tensor& a = context.input(kA);
  if (!IsFloatOrHalf(a.type()) || a.rank() == 0 || a.shape().back() != k_) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected A to be floats [..., ", k_, "], but it is ", TypeAndShape(a)));
  }
  if (context.has_input(kBias) && !IsFloats(context.input(kBias), {n_})) {
    return Expected("bias to be floats ", {n_}, context.input(kBias));
  }
  Shape shape = a.shape();
  shape.back() = n_;
  return shape;
}

absl::StatusOr<std::vector<double>> MatMulNBits::ZeroPoints(const Tensor& zero_points) const {
  if (!zero_points.defined()) return std::vector<double>();
  if (zero_points.type() != DataType::kUint8) return ToDoubles(zero_points);
  const int64_t row_bytes = DivCeil(blocks() * bits_, 8);
  std::vector<double> points(n_ * blocks());
  for (int64_t i = 0; i < n_ * blocks(); ++i) {
    const uint8_t* row = zero_points.data<uint8_t>() + i / blocks() * row_bytes;
    points[i] = CodeAt(row, i % blocks(), bits());
  }
  return points;
}

void MatMulNBits::Infer(InferContext& context) const {
  ValueFacts y;
  y.type = context.input(kA).type;
  y.dims = context.input(kA).dims;
  if (y.dims.has_value() && !y.dims->empty()) y.dims->back() = SymInt(n_);
  context.SetOutput(0, std::move(y));
}

}  // namespace attnrun

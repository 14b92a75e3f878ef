// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_QUANTIZATION_NBIT_GATHER_BLOCK_QUANTIZED_H_
#define ATTNRUN_OPS_QUANTIZATION_NBIT_GATHER_BLOCK_QUANTIZED_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "attnrun/shape.h"
#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// com.microsoft GatherBlockQuantized-1: ONNX Gather along gather_axis of the table
//   (data - zero_points) * scales
// where block_size neighbours along quantize_axis share scale and zero point. Inputs: data, int4 or
// uint4, or uint8 with codes of `bits` packed along the last axis, low bits first; indices (int32
// or int64): negative ones count from the end, those out of range give zeros; scales (float,
// float16 or bfloat16), of data's shape with ceil(extent / block_size) along quantize_axis;
// zero_points?, of data's type and packed like it; if left out, 0, but 2^(bits - 1) for uint8.
class GatherBlockQuantized final : public Op {
 public:
  explicit GatherBlockQuantized(AttributeReader& attributes);

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

  // Inputs.
  static constexpr int kData = 0;
  static constexpr int kIndices = 1;
  static constexpr int kScales = 2;
  static constexpr int kZeroPoints = 3;

  // The table as [outer, axis, inner] around the gather axis.
  struct Layout {
    // The shape of the table in codes, not bytes.
    Shape table;
    // The shape of the scales and of the unpacked zero points.
    Shape scales;
    Shape output;
    int64_t outer = 1;
    int64_t axis = 1;
    int64_t inner = 1;
    size_t quantize_axis = 0;
    int bits = 4;
    bool is_signed = false;

    // The element of the table that becomes element `i` of the output; nullopt if its index is out
    // of range. `indices`: all indices.
    std::optional<int64_t> Source(int64_t i, absl::Span<const int64_t> indices) const;
    // The index of the scale of an element of the table.
    int64_t ScaleOf(int64_t element, int64_t block_size) const;
  };
  // kInvalidArgument or kUnimplemented for inputs that do not fit together.
  absl::StatusOr<Layout> Resolve(const OpContext& context) const;

  int64_t block_size() const { return block_size_; }

 private:
  absl::Status CheckTypes(const OpContext& context) const;
  absl::Status CheckScales(const OpContext& context, const Layout& layout) const;

  int64_t gather_axis_;
  int64_t quantize_axis_;
  int64_t block_size_;
  int64_t bits_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_QUANTIZATION_NBIT_GATHER_BLOCK_QUANTIZED_H_

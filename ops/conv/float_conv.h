// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_CONV_FLOAT_CONV_H_
#define ATTNRUN_OPS_CONV_FLOAT_CONV_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ops/conv/tiled_conv.h"
#include "ops/interface/kernel_context.h"
#include "ops/interface/op_context.h"

// The common frame of the kernels of Conv and ConvTranspose: X, W and B? are inputs 0 to 2, of one
// type, float or a half, and are computed on as floats.
namespace attnrun::ops {

// B; null if it is left out.
const Tensor* ConvBias(const OpContext& context);

// True if the inputs are of one such type.
bool HasFloatConvTypes(const OpContext& context);

// W as floats; undefined if it is not constant or of another type.
absl::StatusOr<Tensor> ConstantConvWeight(const KernelContext& context);

// Weights w [M, C, taps] as [M, taps, C], the order in which the elements of a channels-last window
// lie.
std::vector<float> TapsFirst(const float* w, int64_t features, int64_t channels, int64_t taps);

// A tensor of the shape of a typical X. Only its extents may be read, since it has the bytes of W.
absl::StatusOr<Tensor> TypicalConvInput(const Shape& x, const Tensor& w);

// Sets output 0, of shape `output`, to what convolve(operands) writes to operands.y. Does not call
// it for an output without elements. `weight`: W as floats if it is constant, else undefined.
absl::Status RunFloatConv(
    OpContext& context, const Tensor& weight, const Shape& output,
    absl::FunctionRef<absl::Status(const TiledConv::Operands& operands)> convolve);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_CONV_FLOAT_CONV_H_

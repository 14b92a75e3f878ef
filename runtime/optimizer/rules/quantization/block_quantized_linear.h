// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_QUANTIZATION_BLOCK_QUANTIZED_LINEAR_H_
#define ATTNRUN_OPTIMIZER_RULES_QUANTIZATION_BLOCK_QUANTIZED_LINEAR_H_

#include "absl/status/statusor.h"
#include "optimizer/rewrite/pass.h"

// A product by constant codes, which all passes on Linear know, and its bias:
//
//   x   codes  scales  zero points           x  codes  b  scales  zero points
//    \    |       |       /                    \    \   |    |       /
//   com.microsoft.MatMulNBits         ->        BlockQuantizedLinear
//             |    b                                     |
//             Add                                        y
//              |
//              y
namespace attnrun::opt {

absl::StatusOr<int> FuseBlockQuantizedLinear(PassContext& context);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_QUANTIZATION_BLOCK_QUANTIZED_LINEAR_H_

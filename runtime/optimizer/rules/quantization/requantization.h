// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_QUANTIZATION_REQUANTIZATION_H_
#define ATTNRUN_OPTIMIZER_RULES_QUANTIZATION_REQUANTIZATION_H_

#include "absl/status/statusor.h"
#include "optimizer/rewrite/pass.h"

// What is quantized again as it was before comes back as it was, wherever it has been moved:
//
//           q                                 q
//           |                                 |
//   DequantizeLinear (s, z)                Reshape
//           |                      ->
//        Reshape
//           |
//    QuantizeLinear (s, z)
//
// since (q - z) * s / s, rounded twice, is less than a half away from q - z.
namespace attnrun::opt {

absl::StatusOr<int> RemoveRequantization(PassContext& context);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_QUANTIZATION_REQUANTIZATION_H_

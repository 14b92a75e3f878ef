// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_NBIT_NBIT_H_
#define ATTNRUN_OPS_NBIT_NBIT_H_

#include "ops/interface/registry.h"

namespace attnrun::ops {

// Registers ONNX Runtime's operators on weights of 2, 4 or 8 bits, quantized block by block.
void RegisterNBit(OpRegistry& registry);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_NBIT_NBIT_H_

// SPDX-License-Identifier: Apache-2.0
#include "ops/interface/families.h"
#include "ops/nbit/gather_block_quantized.h"
#include "ops/nbit/matmul_nbits.h"

namespace attnrun::ops {

void RegisterNBit(OpRegistry& registry) {
  registry.Register({kContribDomain, "MatMulNBits", {1}, {3, 6}, {1, 1}, Make<MatMulNBits>});
  registry.Register(
      {kContribDomain, "GatherBlockQuantized", {1}, {3, 4}, {1, 1}, Make<GatherBlockQuantized>});
}

}  // namespace attnrun::ops

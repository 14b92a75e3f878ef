#include "ops/block_quantized/block_quantized.h"

#include "ops/block_quantized/gather_block_quantized.h"
#include "ops/block_quantized/matmul_nbits.h"
#include "ops/contrib/contrib.h"

namespace attnrun {

void RegisterBlockQuantized(OpRegistry& registry) {
  registry.Register({kContribDomain, "MatMulNBits", {1}, {3, 6}, {1, 1}, Make<MatMulNBits>});
  registry.Register(
      {kContribDomain, "GatherBlockQuantized", {1}, {3, 4}, {1, 1}, Make<GatherBlockQuantized>});
}

}  // namespace attnrun

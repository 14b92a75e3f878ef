#include "ops/block_quantized/block_quantized.h"

#include "ops/block_quantized/gather_block_quantized.h"
#include "ops/block_quantized/matmul_nbits.h"

namespace attnrun {

void RegisterBlockQuantized(OpRegistry& registry) {
  constexpr char kDomain[] = "com.microsoft";
  registry.Register({kDomain, "MatMulNBits", {1}, {3, 6}, {1, 1}, Make<MatMulNBits>});
  registry.Register(
      {kDomain, "GatherBlockQuantized", {1}, {3, 4}, {1, 1}, Make<GatherBlockQuantized>});
}

}  // namespace attnrun

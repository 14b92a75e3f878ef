#ifndef ATTNRUN_OPS_BLOCK_QUANTIZED_BLOCK_QUANTIZED_H_
#define ATTNRUN_OPS_BLOCK_QUANTIZED_BLOCK_QUANTIZED_H_

#include "ops/registry.h"

namespace attnrun {

// ONNX Runtime's operators on weights that are quantized block by block.
void RegisterBlockQuantized(OpRegistry& registry);

}  // namespace attnrun

#endif  // ATTNRUN_OPS_BLOCK_QUANTIZED_BLOCK_QUANTIZED_H_

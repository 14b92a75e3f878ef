// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "ops/interface/families.h"
#include "ops/quantization/int8/qlinear_products.h"
#include "ops/quantization/nbit/dequantize_bnb4.h"
#include "ops/quantization/nbit/gather_block_quantized.h"
#include "ops/quantization/nbit/matmul_nbits.h"
#include "ops/quantization/qdq/quantize.h"

namespace attnrun::ops {

void RegisterQuantization(OpRegistry& registry) {
  registry.Register({"", "QLinearConv", {10}, {8, 9}, {1, 1}, MakeQLinearConv});
  registry.Register({"", "QLinearMatMul", {10, 21}, {8, 8}, {1, 1}, MakeQLinearMatMul});
  registry.Register({.domain = "",
                     .name = "QuantizeLinear",
                     .since = {10, 13, 19, 21, 23, 24, 25, 28},
                     .inputs = {2, 3},
                     .outputs = {1, 1},
                     .make = Make<QuantizeLinear>,
                     .traits = kRescales});
  registry.Register({.domain = "",
                     .name = "DequantizeLinear",
                     .since = {10, 13, 19, 21, 23, 24, 25, 28},
                     .inputs = {2, 3},
                     .outputs = {1, 1},
                     .make = Make<DequantizeLinear>,
                     .traits = kRescales});
  registry.Register(
      {.domain = "",
       .name = "DynamicQuantizeLinear",
       .since = {11},
       .inputs = {1, 1},
       .outputs = {3, 3},
       .make =
           [](AttributeReader& /*unused*/) { return std::make_unique<DynamicQuantizeLinear>(); },
       .traits = kRescales});
  registry.Register({kContribDomain, "MatMulNBits", {1}, {3, 6}, {1, 1}, Make<MatMulNBits>});
  registry.Register(
      {kContribDomain, "GatherBlockQuantized", {1}, {3, 4}, {1, 1}, Make<GatherBlockQuantized>});
  registry.Register({"attnrun", "DequantizeBnb4", {1}, {2, 2}, {1, 1}, Make<DequantizeBnb4>});
}

}  // namespace attnrun::ops

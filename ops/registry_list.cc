// SPDX-License-Identifier: Apache-2.0
#include "ops/interface/families.h"
#include "ops/interface/registry.h"

namespace attnrun::ops {

const OpRegistry& OpRegistry::Get() {
  // Never destroyed: sessions may outlive static destruction.
  static const OpRegistry* const registry = [] {
    auto* all = new OpRegistry;
    RegisterAttention(*all);
    RegisterControlFlow(*all);
    RegisterContrib(*all);
    RegisterConv(*all);
    RegisterCumulative(*all);
    RegisterEinsum(*all);
    RegisterElementwise(*all);
    RegisterEmbedding(*all);
    RegisterGather(*all);
    RegisterGenerate(*all);
    RegisterLinear(*all);
    RegisterLinearAttention(*all);
    RegisterLoss(*all);
    RegisterMatMul(*all);
    RegisterMoe(*all);
    RegisterMovement(*all);
    RegisterNormalization(*all);
    RegisterPool(*all);
    RegisterQuantization(*all);
    RegisterRecurrent(*all);
    RegisterReduce(*all);
    RegisterRelative(*all);
    RegisterResize(*all);
    RegisterSearch(*all);
    RegisterSequence(*all);
    RegisterShape(*all);
    RegisterSignal(*all);
    RegisterSoftmax(*all);
    RegisterText(*all);
    RegisterVision(*all);
    return all;
  }();
  return *registry;
}

}  // namespace attnrun::ops

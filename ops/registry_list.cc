// SPDX-License-Identifier: Apache-2.0
#include "ops/attention/attention.h"
#include "ops/contrib/contrib.h"
#include "ops/control_flow/control_flow.h"
#include "ops/conv/conv.h"
#include "ops/cumulative/cumulative.h"
#include "ops/einsum/einsum.h"
#include "ops/elementwise/elementwise.h"
#include "ops/embedding/embedding.h"
#include "ops/gather/gather.h"
#include "ops/generate/generate.h"
#include "ops/interface/registry.h"
#include "ops/linear/linear.h"
#include "ops/matmul/matmul.h"
#include "ops/movement/movement.h"
#include "ops/nbit/nbit.h"
#include "ops/normalization/normalization.h"
#include "ops/pool/pool.h"
#include "ops/quantization/quantize.h"
#include "ops/recurrent/recurrent.h"
#include "ops/reduce/reduce.h"
#include "ops/relative/relative.h"
#include "ops/resize/resize.h"
#include "ops/search/search.h"
#include "ops/shape/shape.h"
#include "ops/signal/signal.h"
#include "ops/softmax/softmax.h"

namespace attnrun::ops {

const OpRegistry& OpRegistry::Get() {
  // Never destroyed: sessions may outlive static destruction.
  static const OpRegistry* const registry = [] {
    auto* all = new OpRegistry;
    RegisterAttention(*all);
    RegisterNBit(*all);
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
    RegisterMatMul(*all);
    RegisterMovement(*all);
    RegisterNormalization(*all);
    RegisterPool(*all);
    RegisterQuantize(*all);
    RegisterRecurrent(*all);
    RegisterReduce(*all);
    RegisterRelative(*all);
    RegisterResize(*all);
    RegisterSearch(*all);
    RegisterShape(*all);
    RegisterSignal(*all);
    RegisterSoftmax(*all);
    return all;
  }();
  return *registry;
}

}  // namespace attnrun::ops

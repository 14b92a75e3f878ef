#ifndef ATTNRUN_OPS_NORMALIZATION_NORMALIZATION_H_
#define ATTNRUN_OPS_NORMALIZATION_NORMALIZATION_H_

#include "ops/registry.h"

namespace attnrun {

// LayerNormalization, RMSNormalization, SimplifiedLayerNormalization, InstanceNormalization,
// GroupNormalization, BatchNormalization, LpNormalization, MeanVarianceNormalization and LRN.
void RegisterNormalization(OpRegistry& registry);

}  // namespace attnrun

#endif  // ATTNRUN_OPS_NORMALIZATION_NORMALIZATION_H_

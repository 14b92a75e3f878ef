// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_NORMALIZATION_NORMALIZATION_H_
#define ATTNRUN_OPS_NORMALIZATION_NORMALIZATION_H_

#include "ops/interface/registry.h"

namespace attnrun::ops {

// Registers LayerNormalization, RMSNormalization, SimplifiedLayerNormalization,
// InstanceNormalization, GroupNormalization, BatchNormalization, LpNormalization,
// MeanVarianceNormalization and LRN.
void RegisterNormalization(OpRegistry& registry);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_NORMALIZATION_NORMALIZATION_H_

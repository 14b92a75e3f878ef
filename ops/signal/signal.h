// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_SIGNAL_SIGNAL_H_
#define ATTNRUN_OPS_SIGNAL_SIGNAL_H_

#include "ops/interface/registry.h"

namespace attnrun::ops {

// Operators of audio front ends: windows, Fourier transforms, the mel scale.
void RegisterSignal(OpRegistry& registry);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_SIGNAL_SIGNAL_H_

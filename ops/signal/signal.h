#ifndef ATTNRUN_OPS_SIGNAL_SIGNAL_H_
#define ATTNRUN_OPS_SIGNAL_SIGNAL_H_

#include "ops/registry.h"

namespace attnrun {

// Operators of audio front ends: windows, Fourier transforms, the mel scale.
void RegisterSignal(OpRegistry& registry);

}  // namespace attnrun

#endif  // ATTNRUN_OPS_SIGNAL_SIGNAL_H_

// SPDX-License-Identifier: Apache-2.0
#include "optimizer/pipeline.h"

namespace attnrun::opt {

const std::vector<Phase>& Phases() { return StandardPhases(); }

}  // namespace attnrun::opt

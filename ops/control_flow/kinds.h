// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_CONTROL_FLOW_KINDS_H_
#define ATTNRUN_OPS_CONTROL_FLOW_KINDS_H_

#include "ops/interface/kinds.h"

// The kinds of values that control flow takes and gives; see KindRule. Scan works on tensors only.
namespace attnrun::ops {

// Outputs may be of any kind, in both branches of the same, or one may be an optional of the other.
absl::Status KindsOfIf(KindContext& context);

// Carried values may be of any kind; scanned outputs are tensors. A value that is carried in as a
// tensor and returned as an optional is an optional.
absl::Status KindsOfLoop(KindContext& context);

// A sequence, then sequences and tensors -> sequences. The body works on tensors.
absl::Status KindsOfSequenceMap(KindContext& context);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_CONTROL_FLOW_KINDS_H_

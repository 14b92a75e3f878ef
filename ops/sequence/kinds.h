// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_SEQUENCE_KINDS_H_
#define ATTNRUN_OPS_SEQUENCE_KINDS_H_

#include "ops/interface/kinds.h"

// The kinds of values that operators on sequences and optionals take and give; see KindRule.
namespace attnrun::ops {

// Tensors, or none -> a sequence.
absl::Status TensorsToSequence(KindContext& context);

// A sequence, then tensors -> a tensor.
absl::Status SequenceToTensor(KindContext& context);

// A sequence, then tensors -> a sequence.
absl::Status SequenceToSequence(KindContext& context);

// A tensor or a sequence -> an optional of it. Without the input, the attribute `type` tells which.
absl::Status OptionalOfInput(KindContext& context);

// An optional -> the kind of its element. Anything else -> the same.
absl::Status ElementOfOptional(KindContext& context);

// Anything -> a tensor.
absl::Status AnyToTensor(KindContext& context);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_SEQUENCE_KINDS_H_

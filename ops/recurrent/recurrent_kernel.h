// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_RECURRENT_RECURRENT_KERNEL_H_
#define ATTNRUN_OPS_RECURRENT_RECURRENT_KERNEL_H_

#include <memory>
#include <optional>

#include "ops/interface/op.h"
#include "ops/recurrent/recurrent_steps.h"

namespace attnrun::ops {

// The kernel of recurrent layers, whose inputs are those of RecurrentInput. Without weights it
// packs W and R, in the form of ONNX, in every run.
std::unique_ptr<Kernel> MakeRecurrentKernel(const RecurrentAttributes& attributes,
                                            std::optional<RecurrentWeights> weights);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_RECURRENT_RECURRENT_KERNEL_H_

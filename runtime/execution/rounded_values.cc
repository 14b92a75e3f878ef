// SPDX-License-Identifier: Apache-2.0
#include "execution/rounded_values.h"

#include "core/hash_map.h"

namespace attnrun::exec {
namespace {

// Step::rounded has a bit for each of the first inputs.
constexpr size_t kInputs = ops::OpContext::kMostRounded;

bool Rounds(const Step& step, size_t input) {
  return step.kernel != nullptr && input < kInputs &&
         step.kernel->rounds_input(static_cast<int>(input));
}

// The slots that some step reads without rounding them. A subgraph may do anything with what it
// captures.
HashSet<const Value*> ReadAsFloats(absl::Span<const Step> steps) {
  HashSet<const Value*> values;
  for (const Step& step : steps) {
    for (const Value* value : step.node->implicit_inputs()) values.insert(value);
    for (size_t i = 0; i < step.inputs.size(); ++i) {
      if (!Rounds(step, i)) values.insert(step.node->input(static_cast<int>(i)));
    }
  }
  return values;
}

}  // namespace

void MarkRoundedValues(absl::Span<Step> steps, absl::Span<const int> kept) {
  const HashSet<int> outputs(kept.begin(), kept.end());
  const HashSet<const Value*> floats = ReadAsFloats(steps);
  HashSet<int> rounded;
  for (Step& step : steps) {
    for (size_t i = 0; i < step.inputs.size() && i < kInputs; ++i) {
      if (rounded.contains(step.inputs[i].slot)) step.rounded |= uint64_t{1} << i;
    }
    if (step.kernel == nullptr || !step.kernel->can_store_bf16() || step.outputs.empty()) continue;
    const int slot = step.outputs[0];
    if (slot < 0 || outputs.contains(slot) || floats.contains(step.node->output(0))) continue;
    step.stores_bf16 = true;
    rounded.insert(slot);
  }
}

}  // namespace attnrun::exec

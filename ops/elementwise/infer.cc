// SPDX-License-Identifier: Apache-2.0
#include "ops/elementwise/infer.h"

#include <algorithm>

namespace attnrun::ops {
namespace {

std::optional<std::vector<SymInt>> BroadcastAll(InferContext& context) {
  // A Sum may have thousands of inputs: not all pairs of them are compared.
  constexpr int kCompared = 16;
  std::optional<std::vector<SymInt>> dims = context.input(0).dims;
  for (int i = 1; i < context.num_inputs(); ++i) {
    if (!context.has_input(i)) return std::nullopt;
    const ValueFacts& next = context.input(i);
    if (dims.has_value() && next.dims.has_value()) context.RequireBroadcast(*dims, *next.dims);
    dims = BroadcastDims(dims, next.dims);
    for (int before = 0; before < std::min(i, kCompared) && dims.has_value(); ++before) {
      RequireUncut(context, context.input(before), next);
    }
  }
  return dims;
}

// Combines contents, which have rank 0 or 1: all of one length, or single elements that repeat.
std::optional<std::vector<SymInt>> CombineContents(const InferContext& context, Combine combine) {
  size_t length = 1;
  for (int i = 0; i < context.num_inputs(); ++i) {
    if (!context.has_input(i) || !context.input(i).contents.has_value()) return std::nullopt;
    const size_t count = context.input(i).contents->size();
    if (count != 1) length = count;
  }
  std::vector<SymInt> result;
  std::vector<SymInt> elements(context.num_inputs());
  for (size_t at = 0; at < length; ++at) {
    for (int i = 0; i < context.num_inputs(); ++i) {
      const std::vector<SymInt>& contents = *context.input(i).contents;
      if (contents.size() != 1 && contents.size() != length) return std::nullopt;
      elements[i] = contents.size() == 1 ? contents[0] : contents[at];
    }
    result.push_back(combine(elements));
  }
  return result;
}

}  // namespace

void InferSameShape(InferContext& context, DataType type) {
  context.SetOutput(0, {type, context.input(0).dims, std::nullopt});
}

void InferBroadcast(InferContext& context, DataType type) {
  context.SetOutput(0, {type, BroadcastAll(context), std::nullopt});
}

void InferBroadcast(InferContext& context, DataType type, Combine combine) {
  context.SetOutput(0, {type, BroadcastAll(context), CombineContents(context, combine)});
}

}  // namespace attnrun::ops

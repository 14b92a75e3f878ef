// SPDX-License-Identifier: Apache-2.0
#include "ops/gather/along_axis.h"
#include "ops/gather/append_to_cache.h"
#include "ops/gather/compress.h"
#include "ops/gather/elements.h"
#include "ops/gather/gather.h"
#include "ops/gather/nd.h"
#include "ops/gather/tensor_scatter.h"
#include "ops/interface/families.h"

namespace attnrun::ops {

void RegisterGather(OpRegistry& registry) {
  registry.Register(
      {"attnrun", "AppendToCache", {1}, {4, 5}, {1, 1}, Make<AppendToCache>, kAssembles});
  registry.Register({"", "Compress", {9, 11, 28}, {2, 2}, {1, 1}, Make<Compress>, kMovesElements});
  registry.Register({"", "Gather", {1, 11, 13}, {2, 2}, {1, 1}, Make<Gather>, kReadsIndices});
  registry.Register(
      {"", "GatherElements", {11, 13}, {2, 2}, {1, 1}, Make<GatherElements>, kReadsIndices});
  registry.Register({"", "GatherND", {11, 12, 13}, {2, 2}, {1, 1}, Make<GatherND>, kReadsIndices});
  registry.Register({"", "Scatter", {9, 11}, {3, 3}, {1, 1}, Make<ScatterElements>, kAssembles});
  registry.Register(
      {"", "ScatterElements", {11, 13, 16, 18}, {3, 3}, {1, 1}, Make<ScatterElements>, kAssembles});
  registry.Register(
      {"", "ScatterND", {11, 13, 16, 18}, {3, 3}, {1, 1}, Make<ScatterND>, kAssembles});
  registry.Register(
      {"attnrun", "TakeAlongAxis", {1}, {2, 2}, {1, 1}, Make<TakeAlongAxis>, kReadsIndices});
  registry.Register({"", "TensorScatter", {24}, {2, 3}, {1, 1}, Make<TensorScatter>, kAssembles});
}

}  // namespace attnrun::ops

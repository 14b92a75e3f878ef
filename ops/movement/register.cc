// SPDX-License-Identifier: Apache-2.0
#include "ops/interface/families.h"
#include "ops/movement/center_crop_pad.h"
#include "ops/movement/concat.h"
#include "ops/movement/depth_space.h"
#include "ops/movement/expand.h"
#include "ops/movement/pad.h"
#include "ops/movement/reverse_sequence.h"
#include "ops/movement/slice.h"
#include "ops/movement/split.h"
#include "ops/movement/transpose.h"
#include "ops/movement/trilu.h"

namespace attnrun::ops {

void RegisterMovement(OpRegistry& registry) {
  registry.Register({"", "CenterCropPad", {18}, {2, 2}, {1, 1}, Make<CenterCropPad>});
  registry.Register({"", "Concat", {4, 11, 13}, ListOf(1), {1, 1}, Make<Concat>, kAssembles});
  registry.Register(
      {"", "DepthToSpace", {1, 11, 13, 28}, {1, 1}, {1, 1}, Make<DepthToSpace>, kRearranges});
  registry.Register({"", "Expand", {8, 13}, {2, 2}, {1, 1}, Make<Expand>, kMovesElements});
  registry.Register(
      {"", "Pad", {2, 11, 13, 18, 19, 21, 23, 24, 25}, {1, 4}, {1, 1}, Make<Pad>, kAssembles});
  registry.Register(
      {"", "ReverseSequence", {10, 28}, {2, 2}, {1, 1}, Make<ReverseSequence>, kRearranges});
  registry.Register({"", "Slice", {1, 10, 11, 13}, {1, 5}, {1, 1}, Make<Slice>, kMovesElements});
  registry.Register(
      {"", "SpaceToDepth", {1, 13, 28}, {1, 1}, {1, 1}, Make<SpaceToDepth>, kRearranges});
  registry.Register(
      {"", "Split", {2, 11, 13, 18}, {1, 2}, {1, kVariadic}, Make<Split>, kMovesElements});
  registry.Register({"", "Tile", {6, 13}, {2, 2}, {1, 1}, Make<Tile>, kMovesElements});
  registry.Register({"",
                     "Transpose",
                     {1, 13, 21, 23, 24, 25},
                     {1, 1},
                     {1, 1},
                     Make<Transpose>,
                     kRearranges | SameSince(13)});
  registry.Register({"", "Trilu", {14}, {1, 2}, {1, 1}, Make<Trilu>});
}

}  // namespace attnrun::ops

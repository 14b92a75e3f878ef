// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_INTERFACE_TRAITS_H_
#define ATTNRUN_OPS_INTERFACE_TRAITS_H_

#include <algorithm>

#include "ops/interface/kinds.h"

namespace attnrun::ops {

// Properties of an operator that all its nodes have, whatever their versions, attributes and
// inputs. A property that is not set may still hold, but for `random`.
struct OpTraits {
  // There is one output, and each of its elements is computed from the elements of the inputs that
  // broadcast to its place, and from nothing else. The axis rule (Op::Axes) follows from it.
  bool elementwise = false;
  // Element-wise, and the output has the shape that the inputs broadcast to: each input may be
  // smaller than the others, as in ONNX's multidirectional broadcasting.
  bool broadcasts = false;
  // Two inputs may change places: not a bit of the output changes.
  bool commutes = false;
  // Two inputs, if there are no others, may change places: at most the sign of a 0 changes.
  bool nearly_commutes = false;
  // Each element of output 0 is one of input 0 on another scale, such as that of its integers.
  bool rescales = false;

  // Each element of the outputs is an unchanged element of input 0. The shapes and the other inputs
  // choose which one.
  bool moves_elements = false;
  // Moves elements, and input 1 holds indices of some, which choose them.
  bool reads_indices = false;
  // Moves elements, and there is one output, which has each element of input 0 once.
  bool rearranges = false;
  // Rearranges, and the elements stay in their order: only the shape changes.
  bool keeps_order = false;
  // The output is put together from elements of the inputs, and of 0 where they leave a gap. An
  // attribute may say how elements that meet in one place are combined.
  bool assembles = false;

  // Each element of output 0 is a sum of products of elements of input 0 and of input 1 (and of
  // more inputs, if there are more factors), on which an attribute may name a function to apply.
  bool multiplies = false;
  // Takes some axes of input 0, which `axes` names as an attribute or an input, together to one
  // number each. The order along these axes does not matter. They stay with extent 1 unless the
  // attribute `keepdims` is 0.
  bool reduces = false;
  // There is one output beside statistics, of the shape of input 0. Each of its rows, which consist
  // of last axes, is computed from the same row of input 0. A Softmax does so, too, but does not
  // say it: rules must tell probabilities from scores.
  bool works_on_rows = false;
  // Leading axes of input 0 that are axes of the output, too, and of no other input, may be joined
  // or split before the node in place of behind it. An attribute `axis` then counts from the end.
  bool takes_any_rank = false;

  // Floating-point elements of the output are numbers from -1 to 1, or NaN.
  bool bounded = false;
  // Draws numbers: nodes that differ in nothing but their names may have other outputs.
  bool random = false;
  // For an operator that takes or gives sequences or optionals: the rule that tells the kinds of
  // its outputs. The other operators take and give tensors only.
  KindRule kinds = nullptr;
  // Versions from this one on mean the same wherever they accept the same inputs and attributes. 0
  // if nothing is said.
  int same_since = 0;
};

constexpr OpTraits operator|(const OpTraits& a, const OpTraits& b) {
  return {.elementwise = a.elementwise || b.elementwise,
          .broadcasts = a.broadcasts || b.broadcasts,
          .commutes = a.commutes || b.commutes,
          .nearly_commutes = a.nearly_commutes || b.nearly_commutes,
          .rescales = a.rescales || b.rescales,
          .moves_elements = a.moves_elements || b.moves_elements,
          .reads_indices = a.reads_indices || b.reads_indices,
          .rearranges = a.rearranges || b.rearranges,
          .keeps_order = a.keeps_order || b.keeps_order,
          .assembles = a.assembles || b.assembles,
          .multiplies = a.multiplies || b.multiplies,
          .reduces = a.reduces || b.reduces,
          .works_on_rows = a.works_on_rows || b.works_on_rows,
          .takes_any_rank = a.takes_any_rank || b.takes_any_rank,
          .bounded = a.bounded || b.bounded,
          .random = a.random || b.random,
          .kinds = a.kinds != nullptr ? a.kinds : b.kinds,
          .same_since = std::max(a.same_since, b.same_since)};
}

inline constexpr OpTraits kElementwise = {.elementwise = true};
inline constexpr OpTraits kBroadcasting = {.elementwise = true, .broadcasts = true};
inline constexpr OpTraits kCommuting = kBroadcasting | OpTraits{.commutes = true};
inline constexpr OpTraits kNearlyCommuting = kBroadcasting | OpTraits{.nearly_commutes = true};
inline constexpr OpTraits kRescales = {.rescales = true};
inline constexpr OpTraits kMovesElements = {.moves_elements = true};
inline constexpr OpTraits kReadsIndices = {.moves_elements = true, .reads_indices = true};
inline constexpr OpTraits kRearranges = {.moves_elements = true, .rearranges = true};
inline constexpr OpTraits kKeepsOrder = {
    .moves_elements = true, .rearranges = true, .keeps_order = true};
inline constexpr OpTraits kAssembles = {.assembles = true};
inline constexpr OpTraits kMultiplies = {.multiplies = true};
inline constexpr OpTraits kReduces = {.reduces = true};
inline constexpr OpTraits kWorksOnRows = {.works_on_rows = true};
inline constexpr OpTraits kTakesAnyRank = {.takes_any_rank = true};
inline constexpr OpTraits kBounded = {.bounded = true};
inline constexpr OpTraits kRandom = {.random = true};
constexpr OpTraits Kinds(KindRule rule) { return {.kinds = rule}; }
constexpr OpTraits SameSince(int version) { return {.same_since = version}; }

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_INTERFACE_TRAITS_H_

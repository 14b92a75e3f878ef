// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_INTERFACE_TRAITS_H_
#define ATTNRUN_OPS_INTERFACE_TRAITS_H_

namespace attnrun::ops {

// Properties of an operator that all its nodes have, whatever their versions, attributes and inputs.
// A property that is not set may still hold.
struct OpTraits {
  // There is one output, and each of its elements is computed from the elements of the inputs that
  // broadcast to its place, and from nothing else. The axis rule (Op::Axes) follows from it.
  bool elementwise = false;
  // Element-wise, and the output has the shape that the inputs broadcast to: each input may be
  // smaller than the others, as in ONNX's multidirectional broadcasting.
  bool broadcasts = false;
  // Each element of the outputs is an unchanged element of input 0. The shapes and the other inputs
  // choose which one.
  bool moves_elements = false;
  // Moves elements, and there is one output, which has each element of input 0 once.
  bool rearranges = false;
  // Rearranges, and the elements stay in their order: only the shape changes.
  bool keeps_order = false;
};

constexpr OpTraits operator|(const OpTraits& a, const OpTraits& b) {
  return {.elementwise = a.elementwise || b.elementwise,
          .broadcasts = a.broadcasts || b.broadcasts,
          .moves_elements = a.moves_elements || b.moves_elements,
          .rearranges = a.rearranges || b.rearranges,
          .keeps_order = a.keeps_order || b.keeps_order};
}

inline constexpr OpTraits kElementwise = {.elementwise = true};
inline constexpr OpTraits kBroadcasting = {.elementwise = true, .broadcasts = true};
inline constexpr OpTraits kMovesElements = {.moves_elements = true};
inline constexpr OpTraits kRearranges = {.moves_elements = true, .rearranges = true};
inline constexpr OpTraits kKeepsOrder = {
    .moves_elements = true, .rearranges = true, .keeps_order = true};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_INTERFACE_TRAITS_H_

// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_SUPPORT_INFER_SOUNDNESS_H_
#define ATTNRUN_TESTS_SUPPORT_INFER_SOUNDNESS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "graph/graph.h"

// Whatever operators tell of their outputs before a run must hold of what they compute.
namespace attnrun::testing {

using Ints = std::vector<int64_t>;

struct SoundnessCase {
  std::string op_type;
  // An undefined tensor is an input left out.
  std::vector<Tensor> inputs;
  AttributeMap attributes = {};
  int num_outputs = 1;
  int opset = 20;
  // Whether extents of the outputs depend on elements that rules do not see.
  bool open = false;
};

// Infers each case with its inputs known in full, as symbols or not at all, and compares what is
// told with the reference results. Expects all extents to be told where the inputs are known.
void ExpectSound(const std::vector<SoundnessCase>& cases);

// Short names for tables. F: floats of this shape.
Tensor F(Ints shape);
// int64, a vector or a scalar.
Tensor I(Ints elements);
Tensor I0(int64_t element);
// uint8 of this shape.
Tensor Bytes(Ints shape);
// An input left out.
Tensor None();
AttributeMap Int(const char* name, int64_t value);
AttributeMap List(const char* name, Ints values);
AttributeMap Words(const char* name, const char* text);

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_SUPPORT_INFER_SOUNDNESS_H_

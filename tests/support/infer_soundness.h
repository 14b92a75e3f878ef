// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_SUPPORT_INFER_SOUNDNESS_H_
#define ATTNRUN_TESTS_SUPPORT_INFER_SOUNDNESS_H_

#include <vector>

#include "support/sample_nodes.h"

<<<<<<< HEAD
    // Checks that the facts an operator infers before a run hold for its reference results.
    namespace attnrun::testing {
  using Ints = std::vector<int64_t>;

  struct SoundnessCase {
    std::string op_type;
    // An undefined tensor stands for an omitted input.
    std::vector<Tensor> inputs;
    AttributeMap attributes = {};
    int num_outputs = 1;
    int opset = 20;
    // True if output extents depend on elements that the rules cannot see.
    bool open = false;
  };

  // Infers each case with its inputs known in full, as symbols or not at all, and compares the
  // inferred facts with the reference results. Expects all extents to be inferred if the inputs are
  // known.
  void ExpectSound(const std::vector<SoundnessCase>& cases);

  // Short names for tables. F: floats of this shape.
  Tensor F(Ints shape);
  // An int64 vector or scalar.
  Tensor I(Ints elements);
  Tensor I0(int64_t element);
  // A uint8 tensor of this shape.
  Tensor Bytes(Ints shape);
  // An omitted input.
  Tensor None();
  AttributeMap Int(const char* name, int64_t value);
  AttributeMap List(const char* name, Ints values);
  AttributeMap Words(const char* name, const char* text);
=======
// The facts that operators infer about their outputs must hold for the results.
namespace attnrun::testing {

// Infers each sample with its inputs known in full, as symbols or not at all, and compares the facts
// with the reference results. Expects all extents to be inferred where the inputs are known.
void ExpectSound(const std::vector<SampleNode>& samples);
>>>>>>> 376a1f8 (tests: hold axis rules and traits against the reference)

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_SUPPORT_INFER_SOUNDNESS_H_

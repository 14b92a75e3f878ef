// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_SUPPORT_INFER_SOUNDNESS_H_
#define ATTNRUN_TESTS_SUPPORT_INFER_SOUNDNESS_H_

#include <vector>

#include "support/sample_nodes.h"

// Checks that the facts an operator infers before a run hold for its reference results.
namespace attnrun::testing {

// Infers each sample with its inputs known in full, as symbols or not at all, and compares the
// facts with the reference results. Expects all extents to be inferred if the inputs are known.
void ExpectSound(const std::vector<SampleNode>& samples);

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_SUPPORT_INFER_SOUNDNESS_H_

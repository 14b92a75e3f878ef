// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_SUPPORT_KNOWLEDGE_H_
#define ATTNRUN_TESTS_SUPPORT_KNOWLEDGE_H_

#include "support/infer_tester.h"
#include "support/op_tester.h"
#include "support/sample_nodes.h"

namespace attnrun::testing {

// How much a test lets an operator know of numbers: all, that equal ones are equal, or nothing.
enum class Knowledge { kNumbers, kSymbols, kNothing };
inline constexpr Knowledge kKnowledge[] = {Knowledge::kNumbers, Knowledge::kSymbols,
                                           Knowledge::kNothing};

// The sample as a node with inputs of which no more than this is known. The number n becomes the
// symbol "en".
InferNode KnownNode(const SampleNode& sample, Knowledge of_dims, Knowledge of_contents);

// The same with another knowledge of the extents of input i.
InferNode KnownNode(const SampleNode& sample, Knowledge of_dims, size_t i, Knowledge of_dims_of_i);

// The sample as a node to run.
OpTester TesterOf(const SampleNode& sample);

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_SUPPORT_KNOWLEDGE_H_

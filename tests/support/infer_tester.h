// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_SUPPORT_INFER_TESTER_H_
#define ATTNRUN_TESTS_SUPPORT_INFER_TESTER_H_

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "ops/interface/infer_context.h"

namespace attnrun::testing {

using Dims = std::vector<SymInt>;
// What is expected of dims and contents.
using Known = std::optional<std::vector<SymInt>>;

inline const SymInt kBatch = SymInt::Symbol("batch");
inline const SymInt kSeq = SymInt::Symbol("seq");
inline const SymInt kPast = SymInt::Symbol("past");

inline ops::ValueFacts Facts(DataType type, Known dims) {
  return {type, std::move(dims), std::nullopt};
}

inline ops::ValueFacts Floats(Dims dims) { return Facts(DataType::kFloat, std::move(dims)); }

// A vector of int64, as shapes are computed on.
inline ops::ValueFacts Numbers(std::vector<SymInt> contents) {
  return {DataType::kInt64, Dims{static_cast<int64_t>(contents.size())}, std::move(contents)};
}

inline ops::ValueFacts Number(SymInt value) {
  return {DataType::kInt64, Dims{}, std::vector<SymInt>{std::move(value)}};
}

// A node and what is known of its inputs; nullopt is an optional input left out.
struct InferNode {
  std::string op_type;
  std::vector<std::optional<ops::ValueFacts>> inputs;
  AttributeMap attributes = {};
  int num_outputs = 1;
  int opset = 20;
};

// What the operator tells of the outputs of a node. `constants`: the inputs' tensors where they are
// the same in every run; empty for none.
std::vector<ops::ValueFacts> InferOutputs(const InferNode& node,
                                          const std::vector<Tensor>& constants = {});

// Of output 0.
ops::ValueFacts Infer(const std::string& op_type,
                      std::vector<std::optional<ops::ValueFacts>> inputs,
                      AttributeMap attributes = {}, int opset = 20);

// "[2,4*seq,?]": unknown extents, which equal nothing, are all written "?", and what is not known
// at all "none".
std::string Text(const Known& list);

// A node and what is told of its outputs, one Text after the other.
struct InferRow {
  InferNode node;
  std::string dims;
  // Of output 0.
  std::string contents = "none";
};

void ExpectRows(const std::vector<InferRow>& rows);

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_SUPPORT_INFER_TESTER_H_

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
// The expected dims or contents; nullopt if unknown.
using Known = std::optional<std::vector<SymInt>>;

inline const SymInt kBatch = SymInt::Symbol("batch");
inline const SymInt kSeq = SymInt::Symbol("seq");
inline const SymInt kPast = SymInt::Symbol("past");

inline ops::ValueFacts Facts(DataType type, Known dims) {
  return {type, std::move(dims), std::nullopt};
}

inline ops::ValueFacts Floats(Dims dims) { return Facts(DataType::kFloat, std::move(dims)); }

// An int64 vector with these contents, as in shape arithmetic.
inline ops::ValueFacts Numbers(std::vector<SymInt> contents) {
  return {DataType::kInt64, Dims{static_cast<int64_t>(contents.size())}, std::move(contents)};
}

inline ops::ValueFacts Number(SymInt value) {
  return {DataType::kInt64, Dims{}, std::vector<SymInt>{std::move(value)}};
}

// A node and the facts about its inputs; nullopt stands for an omitted optional input.
struct InferNode {
  std::string op_type;
  std::vector<std::optional<ops::ValueFacts>> inputs;
  AttributeMap attributes = {};
  int num_outputs = 1;
  int opset = 20;
};

// Adds the node and its inputs to a graph.
const Node* AddTo(Graph& graph, const InferNode& node);

// The inputs in the form that contexts of operators take: null if omitted or not constant. They
// refer to the arguments.
struct KnownNodeInputs {
  KnownNodeInputs(const InferNode& node, const std::vector<Tensor>& constants);

  std::vector<const ops::ValueFacts*> facts;
  std::vector<const Tensor*> tensors;
};

// The facts that the operator infers about the node's outputs, and what it requires.
struct Inferred {
  std::vector<ops::ValueFacts> outputs;
  std::vector<SymInt> required;
  std::vector<ops::InferContext::Indices> indices;
};
Inferred InferAll(const InferNode& node, const std::vector<Tensor>& constants = {});

// The facts that the operator infers about the node's outputs. `constants` holds the tensors of the
// inputs that are the same in every run; it may be empty.
std::vector<ops::ValueFacts> InferOutputs(const InferNode& node,
                                          const std::vector<Tensor>& constants = {});

// Infers output 0 alone.
ops::ValueFacts Infer(const std::string& op_type,
                      std::vector<std::optional<ops::ValueFacts>> inputs,
                      AttributeMap attributes = {}, int opset = 20);

// Text such as "[2,4*seq,?]". Unknown extents are all written "?", although none equals another; an
// unknown list is "none".
std::string Text(const Known& list);

// A node and the expected dims of its outputs as Text, one after the other.
struct InferRow {
  InferNode node;
  std::string dims;
  // The expected contents of output 0.
  std::string contents = "none";
};

void ExpectRows(const std::vector<InferRow>& rows);

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_SUPPORT_INFER_TESTER_H_

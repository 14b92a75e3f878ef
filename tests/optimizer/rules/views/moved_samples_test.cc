// SPDX-License-Identifier: Apache-2.0
// Samples of all operators whose inputs are rearranged: if the view changes places with the node,
// the results stay the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "support/optimizer_tester.h"
#include "support/sample_nodes.h"

namespace attnrun::testing {
namespace {

// How an input is stored, and the view that makes it what it is.
struct Stored {
  Ints shape;
  // The order of the Transpose that follows; if empty, a Reshape follows.
  Ints order;
};

Value* Viewed(GraphBuilder& b, Value* value, const Stored& stored, const Tensor& wanted) {
  if (!stored.order.empty()) return b.Op("Transpose", {value}, {{"perm", stored.order}});
  Ints shape(wanted.shape().begin(), wanted.shape().end());
  return b.Op("Reshape", {value, b.Constant("shape", I(shape))});
}

// Leading axes that are added, joined, split and exchanged.
std::vector<Stored> WaysToStore(const Tensor& tensor) {
  const Ints shape(tensor.shape().begin(), tensor.shape().end());
  std::vector<Stored> ways;
  Ints added = shape;
  added.insert(added.begin(), 1);
  ways.push_back({added, {}});
  if (shape.size() < 2) return ways;
  Ints joined(shape.begin() + 1, shape.end());
  joined[0] *= shape[0];
  ways.push_back({joined, {}});
  Ints split = shape;
  split.insert(split.begin() + 1, 1);
  if (shape[0] % 2 == 0) split[0] /= split[1] = 2;
  ways.push_back({split, {}});
  Ints exchanged = shape;
  std::swap(exchanged[0], exchanged[1]);
  Ints order(shape.size());
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[0], order[1]);
  ways.push_back({exchanged, order});
  return ways;
}

Tensor Zeros(const Tensor& like) {
  Tensor zeros = Tensor::Allocate(like.type(), like.shape()).value();
  std::fill_n(static_cast<uint8_t*>(zeros.mutable_raw()), zeros.byte_size(), 0);
  return zeros;
}

// The sample with input 0, and others of its shape, stored in this way.
OptimizerTester Rearranged(const SampleNode& sample, const Stored& stored) {
  const Tensor& first = sample.inputs[0];
  return OptimizerTester(
      [&](GraphBuilder& b) {
        std::vector<Value*> inputs;
        Value* choice = nullptr;
        for (size_t i = 0; i < sample.inputs.size(); ++i) {
          const Tensor& tensor = sample.inputs[i];
          const std::string name = "x" + std::to_string(i);
          if (!tensor.defined()) {
            inputs.push_back(nullptr);
          } else if (i == 0 || (tensor.shape() == first.shape() && tensor.type() == first.type())) {
            // Nothing folds what an input chooses.
            if (choice == nullptr) choice = b.Input("choice", DataType::kBool, {});
            Value* value = b.Constant(name, tensor.Reshaped(stored.shape).value());
            Value* other = b.Constant(name, Zeros(tensor).Reshaped(stored.shape).value());
            value = b.Op("Where", {choice, value, other});
            inputs.push_back(Viewed(b, value, stored, tensor));
          } else {
            inputs.push_back(b.Constant(name, tensor));
          }
        }
        for (Value* output : b.Ops(sample.op_type, sample.num_outputs, inputs, sample.attributes)) {
          b.Output(output);
        }
      },
      {}, sample.opset);
}

TEST(MovedSamplesTest, ResultsStayTheSame) {
  std::set<std::string> moved;
  for (const SampleNode& sample : AllSamples()) {
    if (sample.inputs.empty() || !sample.inputs[0].defined()) continue;
    for (const Stored& stored : WaysToStore(sample.inputs[0])) {
      SCOPED_TRACE(sample.op_type + " of rank " + std::to_string(stored.shape.size()));
      OptimizerTester test = Rearranged(sample, stored);
      if (test.Applied("move_views") == 0) continue;
      moved.insert(sample.op_type);
      test.Feed("choice", Tensor::Of<bool>({}, {true}).value()).ExpectSameResults(1e-5);
    }
  }
  for (const char* op :
       {"Relu", "Add", "attnrun::Linear", "MatMul", "DynamicQuantizeLinear", "ReduceMean"}) {
    EXPECT_TRUE(moved.contains(op)) << op;
  }
}

}  // namespace
}  // namespace attnrun::testing

// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_SUPPORT_SAMPLE_NODES_H_
#define ATTNRUN_TESTS_SUPPORT_SAMPLE_NODES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "graph/graph.h"

// Nodes of all operators with inputs for one run, on which tests hold what operators derive before
// a run (Infer, Axes, traits) against what the reference code computes. An operator belongs in one
// of these tables; the test of axes fails without it.
namespace attnrun::testing {

using Ints = std::vector<int64_t>;

struct SampleNode {
  // "domain::Name" if it is not of the standard.
  std::string op_type;
  // An undefined tensor is an input left out.
  std::vector<Tensor> inputs;
  AttributeMap attributes = {};
  int num_outputs = 1;
  int opset = 20;
  // True if extents of the outputs depend on elements that Infer does not see.
  bool open = false;
};

std::vector<SampleNode> ShapeSamples();
std::vector<SampleNode> MovementSamples();
std::vector<SampleNode> GatheringSamples();
std::vector<SampleNode> GeneratingSamples();
std::vector<SampleNode> IntegerSamples();
std::vector<SampleNode> ElementwiseSamples();
std::vector<SampleNode> ProductSamples();
std::vector<SampleNode> ReductionSamples();
std::vector<SampleNode> LayerSamples();
std::vector<SampleNode> AttentionSamples();
std::vector<SampleNode> ImageSamples();
std::vector<SampleNode> SignalSamples();
// Operators of attnrun's own.
std::vector<SampleNode> InternalSamples();
// Operators of ONNX Runtime.
std::vector<SampleNode> ContribRowSamples();
std::vector<SampleNode> ContribProductSamples();
std::vector<SampleNode> ContribAttentionSamples();

// All of the above.
std::vector<SampleNode> AllSamples();

// Short names for tables. F: floats of this shape, from a normal distribution.
Tensor F(const Ints& shape);
// int64, a vector or a scalar.
Tensor I(const Ints& elements);
Tensor I0(int64_t element);
Tensor Int32(const Ints& shape, const std::vector<int32_t>& elements);
// One float.
Tensor F0(float element);
// Random uint8, and int8 from -3 to 3, of this shape.
Tensor Bytes(const Ints& shape);
Tensor SmallBytes(const Ints& shape);
// An input left out.
Tensor None();
AttributeMap Int(const char* name, int64_t value);
AttributeMap List(const char* name, Ints values);
AttributeMap Words(const char* name, const char* text);

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_SUPPORT_SAMPLE_NODES_H_

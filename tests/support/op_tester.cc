// SPDX-License-Identifier: Apache-2.0
#include "support/op_tester.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "core/status.h"
#include "ops/interface/registry.h"

namespace attnrun::testing {
namespace {

void MakeDense(std::vector<Tensor>& tensors) {
  for (Tensor& tensor : tensors) tensor = tensor.Dense().value();
}

// A copy that owns its bytes. Precondition: dense, no strings.
Tensor Copy(const Tensor& tensor) {
  Tensor copy = Tensor::Allocate(tensor.type(), tensor.shape()).value();
  std::memcpy(copy.mutable_raw(), tensor.raw(), tensor.byte_size());
  return copy;
}

}  // namespace

OpTester::OpTester(std::string op_type, int opset, std::string domain) {
  spec_.op_type = std::move(op_type);
  spec_.opset = opset;
  spec_.domain = std::move(domain);
}

OpTester& OpTester::Attribute(const std::string& name, AttributeValue value) {
  spec_.attributes[name] = std::move(value);
  return *this;
}

OpTester& OpTester::Input(Tensor tensor) {
  inputs_.push_back(std::move(tensor));
  constant_.push_back(false);
  return *this;
}

OpTester& OpTester::Constant(Tensor tensor) {
  inputs_.push_back(std::move(tensor));
  constant_.push_back(true);
  return *this;
}

OpTester& OpTester::NoInput() { return Input(Tensor()); }

OpTester& OpTester::Outputs(int count) {
  num_outputs_ = count;
  return *this;
}

OpTester& OpTester::InPlace() {
  in_place_ = true;
  return *this;
}

OpTester& OpTester::In(Precision precision) {
  precision_ = precision;
  return *this;
}

absl::StatusOr<std::vector<Tensor>> OpTester::Reference() const { return Run(false); }
absl::StatusOr<std::vector<Tensor>> OpTester::Kernel() const { return Run(true); }

absl::StatusOr<std::vector<Tensor>> OpTester::Run(bool kernel) const {
  Graph graph;
  NodeSpec spec = spec_;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    Value* value = nullptr;
    if (inputs_[i].defined()) {
      ATTNRUN_ASSIGN_OR_RETURN(value, graph.AddInput(absl::StrCat("x", i), TypeOf(inputs_[i])));
    }
    spec.inputs.push_back(value);
  }
  std::vector<std::string> names;
  for (int i = 0; i < num_outputs_; ++i) names.push_back(absl::StrCat("y", i));
  ATTNRUN_ASSIGN_OR_RETURN(const Node* node, graph.AddNode(std::move(spec), names));
  ATTNRUN_ASSIGN_OR_RETURN(const std::unique_ptr<ops::Op> op, ops::OpRegistry::Get().Create(*node));
  std::vector<Tensor> inputs = inputs_;
  std::vector<Tensor> outputs(num_outputs_);
  ops::OpContext context(inputs, absl::MakeSpan(outputs), Allocator::Heap());
  if (!kernel) {
    MakeDense(inputs);
    ATTNRUN_RETURN_IF_ERROR(op->Reference(context));
    return outputs;
  }
  std::vector<Tensor> constants(inputs_.size());
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (constant_[i]) constants[i] = inputs_[i];
  }
  ATTNRUN_ASSIGN_OR_RETURN(const std::unique_ptr<ops::Kernel> made,
                           op->MakeKernel({constants, precision_}));
  if (made != nullptr && !made->accepts_strided()) MakeDense(inputs);
  if (made == nullptr || !made->Accepts(context)) {
    return absl::FailedPreconditionError("no kernel accepts these inputs");
  }
  EXPECT_TRUE(ops::OpRegistry::Get().Find(node->domain(), node->op_type())->has_kernel());
  absl::InlinedVector<bool, 8> exclusive;
  for (Tensor& input : inputs) {
    exclusive.push_back(in_place_ && input.defined() && input.is_dense());
    if (exclusive.back()) input = Copy(input);
  }
  context.set_exclusive(exclusive);
  ATTNRUN_RETURN_IF_ERROR(made->Run(context));
  return outputs;
}

Tensor MakeBool(const std::vector<int64_t>& shape, const std::vector<int>& elements) {
  const std::vector<int64_t> values(elements.begin(), elements.end());
  return FromInts(DataType::kBool, shape, values).value();
}

Tensor RandomFloats(const std::vector<int64_t>& shape, std::mt19937& generator, float scale) {
  Tensor tensor = Tensor::Allocate(DataType::kFloat, shape).value();
  std::normal_distribution<float> normal(0, scale);
  std::generate_n(tensor.mutable_data<float>(), tensor.num_elements(),
                  [&] { return normal(generator); });
  return tensor;
}

Tensor Converted(const Tensor& tensor, DataType type) {
  return FromDoubles(type, tensor.shape(), ToDoubles(tensor).value()).value();
}

double Epsilon(DataType type) {
  switch (type) {
    case DataType::kFloat16:
      return 0x1p-10;
    case DataType::kBfloat16:
      return 0x1p-7;
    case DataType::kDouble:
      return 0x1p-52;
    default:
      return kEpsilon;
  }
}

Tensor RandomInts(DataType type, const std::vector<int64_t>& shape, std::mt19937& generator,
                  int64_t low, int64_t high) {
  std::vector<int64_t> values(NumElements(shape).value());
  std::uniform_int_distribution<int64_t> uniform(low, high);
  for (int64_t& value : values) value = uniform(generator);
  return FromInts(type, shape, values).value();
}

uint32_t Seed() {
  // Calls are counted per test, so that neither the order of tests nor a filter changes the seeds.
  static const ::testing::TestInfo* test = nullptr;
  static uint32_t calls = 0;
  const ::testing::TestInfo* current = ::testing::UnitTest::GetInstance()->current_test_info();
  if (current != std::exchange(test, current)) calls = 0;
  return std::getenv(kSeedVariable) == nullptr ? ++calls : ChosenSeed();
}

uint32_t ChosenSeed() {
  const char* chosen = std::getenv(kSeedVariable);
  uint32_t seed = 0;
  if (chosen == nullptr || !absl::SimpleAtoi(chosen, &seed)) {
    seed = static_cast<uint32_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  }
  ::testing::Test::RecordProperty("seed", absl::StrCat(seed));
  std::printf("%s=%u\n", kSeedVariable, seed);
  return seed;
}

void ExpectClose(const Tensor& actual, const Tensor& expected, double tolerance) {
  ASSERT_EQ(TypeAndShape(actual), TypeAndShape(expected));
  if (expected.type() == DataType::kString) {
    EXPECT_EQ(ToStrings(actual).value(), ToStrings(expected).value());
    return;
  }
  if (!IsFloatingPoint(expected.type())) {
    EXPECT_EQ(ToInts(actual).value(), ToInts(expected).value());
    return;
  }
  const std::vector<double> a = ToDoubles(actual).value();
  const std::vector<double> b = ToDoubles(expected).value();
  for (size_t i = 0; i < b.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    ASSERT_LE(std::fabs(a[i] - b[i]), tolerance * std::max(1.0, std::fabs(b[i])))
        << "element " << i << " of " << b.size() << ": " << a[i] << " against " << b[i];
  }
}

}  // namespace attnrun::testing

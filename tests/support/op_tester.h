// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_SUPPORT_OP_TESTER_H_
#define ATTNRUN_TESTS_SUPPORT_OP_TESTER_H_

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "ops/interface/op.h"

namespace attnrun::testing {

// One node with its inputs; runs on either engine.
class OpTester {
 public:
  explicit OpTester(std::string op_type, int opset = 20, std::string domain = "");

  OpTester& Attribute(const std::string& name, AttributeValue value);
  OpTester& Input(Tensor tensor);
  // An input that is the same in every run, such as a weight.
  OpTester& Constant(Tensor tensor);
  OpTester& NoInput();
  OpTester& Outputs(int count);
  // Allows the kernel to overwrite (copies of) the inputs.
  OpTester& InPlace();
  // The precision of the kernel; float32 if it is not set.
  OpTester& In(Precision precision);

  // The outputs, or the first error of creating or running the operator. Kernel() fails with
  // kFailedPrecondition if there is no kernel or if it does not accept these inputs. Strided inputs
  // are made dense, as the executor does.
  absl::StatusOr<std::vector<Tensor>> Reference() const;
  absl::StatusOr<std::vector<Tensor>> Kernel() const;

 private:
  absl::StatusOr<std::vector<Tensor>> Run(bool kernel) const;

  NodeSpec spec_;
  std::vector<Tensor> inputs_;
  std::vector<bool> constant_;
  int num_outputs_ = 1;
  bool in_place_ = false;
  Precision precision_ = Precision::kFloat32;
};

template <typename T>
Tensor Make(const std::vector<int64_t>& shape, const std::vector<T>& elements) {
  return Tensor::Of<T>(shape, elements).value();
}
// A separate function because std::vector<bool> is not an array of bool.
Tensor MakeBool(const std::vector<int64_t>& shape, const std::vector<int>& elements);

// Floats from a normal distribution of standard deviation `scale`.
Tensor RandomFloats(const std::vector<int64_t>& shape, std::mt19937& generator, float scale = 1);
// The same numbers rounded to `type`.
Tensor Converted(const Tensor& tensor, DataType type);
// Integers of [low, high], stored as `type`.
Tensor RandomInts(DataType type, const std::vector<int64_t>& shape, std::mt19937& generator,
                  int64_t low, int64_t high);

// The environment variable that seeds all tests; any text that is not a number means the clock.
inline constexpr char kSeedVariable[] = "ATTNRUN_TEST_SEED";
// The next seed of the current test. Without kSeedVariable the first, second, ... seed of a test is
// the same in every run, so that a failure is caused by a change and not by chance; `tools/dev
// soak` draws fresh seeds.
uint32_t Seed();
// The seed in kSeedVariable or else from the clock; printed so that a failure can be repeated.
uint32_t ChosenSeed();

// Expects equal types and shapes, and |a - b| <= tolerance * max(1, |b|) for every element. NaN
// equals NaN and infinities equal themselves. Integers, bool and strings are compared exactly.
void ExpectClose(const Tensor& actual, const Tensor& expected, double tolerance);

// The distance from 1 to the next float; tolerances are stated in this unit.
inline constexpr double kEpsilon = 1.1920929e-7;
// The same for float, float16, bfloat16 and double.
double Epsilon(DataType type);

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_SUPPORT_OP_TESTER_H_

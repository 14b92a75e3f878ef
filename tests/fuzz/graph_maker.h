// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_FUZZ_GRAPH_MAKER_H_
#define ATTNRUN_TESTS_FUZZ_GRAPH_MAKER_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "fuzz/evaluate.h"
#include "support/graph_builder.h"

namespace attnrun::testing {

// Random choices.
class Dice {
 public:
  explicit Dice(uint32_t seed) : generator_(seed) {}
  std::mt19937& generator() { return generator_; }
  // Of [low, high].
  int64_t Int(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(generator_);
  }
  bool Chance(double probability) { return std::bernoulli_distribution(probability)(generator_); }
  // Once in so many cases in which a pattern would hold, something that is almost right.
  bool Wrong() { return Chance(0.03); }
  template <typename T>
  const T& Pick(const std::vector<T>& items) {
    return items[Int(0, static_cast<int64_t>(items.size()) - 1)];
  }
  template <typename T>
  T Of(std::initializer_list<T> items) {
    return Pick(std::vector<T>(items));
  }

 private:
  std::mt19937 generator_;
};

// A graph that grows node by node, each of which is run as it is added, at every binding of the
// symbols: so there is no need to know what shapes an operator takes, and a node that fails is
// taken back. A step of several nodes is over with its first failure: all later calls of it return
// null, until Restart. What it left behind stays, as nodes nobody reads.
class GraphMaker {
 public:
  // How many choices of the symbols' extents there are: two that are all different, and one with
  // extents of 1 and a batch that may be empty.
  static constexpr int kBindings = 3;

  explicit GraphMaker(uint32_t seed);

  Dice& dice() { return dice_; }
  int opset() const { return opset_; }

  Value* Input(DataType type, const std::vector<DimSpec>& shape, double low = -2, double high = 2);

  Value* Op(const std::string& op_type, std::vector<Value*> inputs, AttributeMap attributes = {});
  std::vector<Value*> Ops(const std::string& op_type, int outputs, std::vector<Value*> inputs,
                          AttributeMap attributes = {});
  // The inputs in either order.
  Value* Commute(const std::string& op_type, Value* a, Value* b);

  // Constants, as initializers or as what a Constant node gives.
  Value* Constant(Tensor tensor);
  Value* Weight(const std::vector<int64_t>& shape, double scale = 1);
  Value* Ints(const std::vector<int64_t>& elements);
  Value* Int(int64_t element);
  // Of one element, seldom of the wrong one, of rank 0 or, seldom, more.
  Value* Number(double number, DataType type = DataType::kFloat);
  // An axis from either end, seldom another one.
  int64_t Axis(int64_t axis, int rank);

  // An operator that reduces along axes, in this opset's form.
  Value* Reduce(const std::string& op_type, Value* x, const std::vector<int64_t>& axes,
                bool keep = true);
  Value* Unsqueeze(Value* x, const std::vector<int64_t>& axes);
  Value* Transpose(Value* x, std::vector<int64_t> permutation);
  // The extents of axes as a vector, read off the value in one way or another.
  Value* ExtentOf(Value* x, int64_t axis);

  // A value under one of the bindings; undefined of null.
  const Tensor& At(const Value* value, int binding) const;
  int Rank(const Value* value) const { return At(value, 0).rank(); }
  DataType TypeOf(const Value* value) const { return At(value, 0).type(); }
  // An extent that is the same under all bindings.
  std::optional<int64_t> Extent(const Value* value, int64_t axis) const;
  // Whether an axis is as long as a symbol under all bindings.
  bool HasExtentOf(const Value* value, int64_t axis, const std::string& symbol) const;
  bool SameShape(const Value* a, const Value* b) const;

  bool failed() const { return failed_; }
  void Restart() { failed_ = false; }
  // Gives up the step.
  Value* Fail();

  // Values that steps may start from. Those that are not finite or too large are not kept.
  void Keep(Value* value);
  using Filter = std::function<bool(const Value*)>;
  // One of them, likelier a late one; null if there is none.
  Value* Any(const Filter& filter);
  Value* AnyFloat(int min_rank = 0);

  // Ends: what nobody reads, and some of what somebody does, are outputs.
  Trial Finish();

 private:
  bool Compute(const Node* node);

  Dice dice_;
  const int opset_;
  Graph graph_;
  GraphBuilder builder_;
  bool failed_ = false;
  int num_inputs_ = 0;
  std::vector<std::map<std::string, int64_t>> extents_;
  std::map<const Value*, std::vector<Tensor>> tensors_;
  std::vector<Value*> pool_;
};

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_FUZZ_GRAPH_MAKER_H_

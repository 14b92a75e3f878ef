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

#include "fuzz/choices.h"
#include "fuzz/evaluate.h"
#include "support/graph_builder.h"

namespace attnrun::testing {

// A source of random choices. The first of them may be those of a fuzzer, which must outlive it.
class Dice : public Picks<Dice> {
 public:
  explicit Dice(uint32_t seed, absl::Span<const uint8_t> chosen = {})
      : chosen_(chosen), generator_(seed) {}
  std::mt19937& generator() { return generator_; }
  // A number of [low, high].
  int64_t Int(int64_t low, int64_t high) {
    if (!chosen_.empty()) return chosen_.Int(low, high);
    return std::uniform_int_distribution<int64_t>(low, high)(generator_);
  }
  bool Chance(double probability) {
    if (!chosen_.empty()) return chosen_.Byte() < probability * 256;
    return std::bernoulli_distribution(probability)(generator_);
  }
  // True once in about 33 calls: the caller then spells a pattern almost correctly but wrong.
  bool Wrong() { return Chance(0.03); }

 private:
  Choices chosen_;
  std::mt19937 generator_;
};

// A graph that grows node by node. Each node is run when it is added, under every binding of the
// symbols, so callers need not know which shapes an operator accepts. A node that fails is removed
// again, and the current step ends with it: all later calls return null until Restart. Nodes that
// the failed step has already added stay in the graph without readers.
class GraphMaker {
 public:
  // The number of bindings of the symbols: two in which all extents differ, and one with extents of
  // 1 and a batch that may be empty.
  static constexpr int kBindings = 3;

  explicit GraphMaker(uint32_t seed, absl::Span<const uint8_t> chosen = {});

  Dice& dice() { return dice_; }
  int opset() const { return opset_; }

  Value* Input(DataType type, const std::vector<DimSpec>& shape, double low = -2, double high = 2);

  Value* Op(const std::string& op_type, std::vector<Value*> inputs, AttributeMap attributes = {});
  std::vector<Value*> Ops(const std::string& op_type, int outputs, std::vector<Value*> inputs,
                          AttributeMap attributes = {});
  // Passes the two inputs in random order.
  Value* Commute(const std::string& op_type, Value* a, Value* b);

  // Constants, as initializers or as the outputs of Constant nodes.
  Value* Constant(Tensor tensor);
  Value* Weight(const std::vector<int64_t>& shape, double scale = 1);
  Value* Ints(const std::vector<int64_t>& elements);
  Value* Int(int64_t element);
  // A constant of one element, of rank 0 or rarely more; rarely of a wrong number.
  Value* Number(double number, DataType type = DataType::kFloat);
  // The axis counted from either end; rarely another axis.
  int64_t Axis(int64_t axis, int rank);

  // An operator that reduces along axes, in the form of this opset.
  Value* Reduce(const std::string& op_type, Value* x, const std::vector<int64_t>& axes,
                bool keep = true);
  Value* Unsqueeze(Value* x, const std::vector<int64_t>& axes);
  Value* Transpose(Value* x, std::vector<int64_t> permutation);
  // The extent of an axis as a vector, read from the value in one of several spellings.
  Value* ExtentOf(Value* x, int64_t axis);

  // The value under one binding; undefined for null.
  const Tensor& At(const Value* value, int binding) const;
  int Rank(const Value* value) const { return At(value, 0).rank(); }
  DataType TypeOf(const Value* value) const { return At(value, 0).type(); }
  // The extent if it is the same under all bindings.
  std::optional<int64_t> Extent(const Value* value, int64_t axis) const;
  // True if the axis is as long as the symbol under all bindings.
  bool HasExtentOf(const Value* value, int64_t axis, const std::string& symbol) const;
  bool SameShape(const Value* a, const Value* b) const;

  bool failed() const { return failed_; }
  void Restart() { failed_ = false; }
  // Ends the step.
  Value* Fail();

  // Makes the value available to later steps, unless its elements are not finite or too large.
  void Keep(Value* value);
  using Filter = std::function<bool(const Value*)>;
  // A random kept value that passes the filter, more often a late one; null if there is none.
  Value* Any(const Filter& filter);
  Value* AnyFloat(int min_rank = 0);

  // Finishes the graph: unread values and some of the read ones become outputs.
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

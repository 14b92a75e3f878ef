// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_ANALYSIS_FACTS_H_
#define ATTNRUN_OPTIMIZER_ANALYSIS_FACTS_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/hash_map.h"
#include "graph/graph.h"
#include "ops/interface/infer_context.h"

namespace attnrun::opt {

// Facts about a graph's values that hold in every run: element types, extents as symbolic integers,
// and the contents of the small integer tensors that shapes are made of. A fact is computed when it
// is first asked for: the node's Infer derives the facts about its outputs from those about its
// inputs, and so on up to the graph inputs and constants. Types and shapes that the file states for
// inner values are ignored, since nothing checks them.
class Facts {
 public:
  // The facts of a main graph.
  explicit Facts(const Graph& graph);
  // The facts of a body of a node. `outer`, the facts of the graph that has the node, must outlive
  // these. `inputs` are the facts about the body's inputs; missing ones are unknown.
  Facts(const Graph& body, Facts& outer, std::vector<ops::ValueFacts> inputs = {});

  // Nothing is known of null, an input that is left out.
  const ops::ValueFacts& Of(const Value* value);
  DataType TypeOf(const Value* value) { return Of(value).type; }
  // The extents, or null if not even the rank is known.
  const std::vector<SymInt>* DimsOf(const Value* value);
  // The rank, or -1 if it is unknown.
  int RankOf(const Value* value);
  // The extent of an axis, counted from the end if negative; nullopt if it is no fixed number.
  std::optional<int64_t> Extent(const Value* value, int axis);

  // Numbers that every run that succeeds has equal: those known of the graph, and what its nodes
  // add. Extents and contents are in the normal form that follows.
  const Equalities& equalities() const { return equalities_; }

  // Lets the node's operator infer `outputs` and calls use(context) with what it tells besides.
  // Neither happens if there is no such operator.
  void Infer(const Node& node, absl::Span<ops::ValueFacts> outputs,
             absl::FunctionRef<void(const ops::InferContext& context)> use);

  // Numbers that are at least 0 in every run that succeeds, whose formulas do not show it.
  const std::vector<SymInt>& required() const { return extents_; }
  // True if the number is known to be at least 0 in every run.
  bool IsNeverNegative(const SymInt& number) const;

  // Must be called before a value is removed: a later value may get its address.
  void Forget(const Value* value) { facts_.erase(value); }

 private:
  void FindExtents();
  void AddExtent(const SymInt& extent);
  // Adds the numbers that the node's operator requires.
  void AddRequired(const Node& node, const ops::InferContext& context);
  // Adds what the operator requires to be equal, if the node is asked.
  void AddEqual(const Node& node, const ops::InferContext& context);
  bool FindEqualities();
  void Compute(const Value* value);
  void ComputeNode(const Node& node);
  ops::ValueFacts OfOrigin(const Value& value);

  const Graph& graph_;
  // Null in a main graph.
  Facts* outer_ = nullptr;
  std::vector<ops::ValueFacts> inputs_;
  std::vector<SymInt> extents_;
  HashMap<const Value*, std::unique_ptr<const ops::ValueFacts>> facts_;
  // True while FindExtents adds what operators require.
  bool collects_ = false;
  Equalities equalities_;
  // The nodes to ask for equalities, and whether they told any.
  HashSet<const Node*> asked_;
  bool found_ = false;
};

// The facts about the inputs of the body in `attribute` of `node` that hold whenever the body runs.
// `facts` belong to the graph that has the node.
std::vector<ops::ValueFacts> BodyInputFacts(const Node& node, const std::string& attribute,
                                            Facts& facts);

// Sets the facts about the outputs of an If or a Loop that follow from its bodies; does nothing for
// other nodes.
void InferFromBodies(const Node& node, Facts& facts, std::vector<ops::ValueFacts>& outputs);

// The only element of a constant of one element, as a double.
std::optional<double> ScalarOf(const Value* value);

// The element that a ConstantOfShape repeats, as a tensor of rank 0.
absl::StatusOr<Tensor> FillingOf(const Node& constant_of_shape);

// The bounds of a Clip of any version, each null if it is left out. Null if one is computed.
struct ClipBounds {
  std::optional<double> least;
  std::optional<double> most;
};
std::optional<ClipBounds> ClipBoundsOf(const Node& clip);

// The value that all elements have: of a constant, a ConstantOfShape, or a view of these.
std::optional<double> UniformOf(const Value* value);

// The elements of a constant integer tensor of rank 0 or 1.
std::optional<std::vector<int64_t>> IntsOf(const Value* value);

// The elements of an integer tensor of rank 0 or 1 that is the same in every run, whether the graph
// has it as a constant or computes it.
std::optional<std::vector<int64_t>> KnownInts(const Value* value, Facts& facts);

// The same for an operand that was an attribute in old versions and is an input now, such as axes.
std::optional<std::vector<int64_t>> KnownInts(const Node& node, absl::string_view attribute,
                                              size_t input, Facts& facts);

// The only element of such a tensor.
std::optional<int64_t> KnownInt(const Value* value, Facts& facts);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_ANALYSIS_FACTS_H_

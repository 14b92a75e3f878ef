#include "optimizer/fusions/attention/scores.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "optimizer/fusions/attention/picture.h"
#include "optimizer/fusions/reduction.h"
#include "optimizer/node_queries.h"
#include "optimizer/trace.h"

namespace attnrun {
namespace {

// More steps than any exporter writes between the product and its Softmax.
constexpr int kMaxSteps = 24;

// Next to numbers of the size of float's least one, scores vanish.
constexpr double kSwallows = -1e30;

// Walks from the Softmax towards the product, one node a step.
class ScoreWalk {
 public:
  ScoreWalk(Facts& facts, std::string& why) : facts_(facts), why_(why) {}

  std::optional<Scores> Find(Value* value, int steps) {
    Node* node = value == nullptr ? nullptr : value->producer();
    const std::vector<SymInt>* dims = value == nullptr ? nullptr : facts_.DimsOf(value);
    if (node == nullptr)
      return No(absl::StrCat("'", value == nullptr ? "" : value->name(),
                             "' is no product of two matrices"));
    if (dims == nullptr || dims->size() < 2) {
      return No(absl::StrCat("the extents of '", value->name(), "' are not known"));
    }
    // Both sides of every sum may have to be tried.
    if (steps == 0 || --visits_left_ < 0)
      return No(absl::StrCat("too much stands before ", node->description()));
    if (!node->domain().empty()) return Between(*node);
    const std::string& op = node->op_type();
    if (op == "MatMul") return Product(node, *dims);
    if (op == "Cast") return Pass(node, Find(node->input(0), steps - 1));
    if (op == "Add") return Sum(node, *dims, steps);
    if (op == "Sub") return Difference(node, *dims, steps);
    if (op == "Max") return Floored(node, *dims, steps);
    if (op == "Where") return Choice(node, *dims, steps);
    if (IsViewNode(*node)) return Rearranged(node, *dims, steps);
    if (op == "Mul" || op == "Div") return Scaled(node, steps);
    return Between(*node);
  }

 private:
  using Result = std::optional<Scores>;

  // The first reason met is the one that counts.
  Result No(std::string why) {
    if (why_.empty()) why_ = std::move(why);
    return std::nullopt;
  }
  Result Between(const Node& outer) {
    // A view is not what is in the way, but what stands before it.
    const Node* inner = &outer;
    for (int i = 0; i < 4 && IsViewNode(*inner) && inner->input(0)->producer() != nullptr; ++i) {
      inner = inner->input(0)->producer();
    }
    const Node& node = IsLinearMap(*inner) || IsPutTogether(*inner) ? *inner : outer;
    absl::string_view what = IsLinearMap(node) ? ", a linear map over heads" : "";
    if (IsPutTogether(node)) what = ", which puts them together: of blocks, of windows";
    return No(absl::StrCat("between the scores and the Softmax stands ", node.description(), what));
  }
  static bool IsPutTogether(const Node& node) {
    return node.op_type() == "Concat" || node.op_type() == "Pad" || node.op_type() == "ScatterND" ||
           node.op_type() == "ScatterElements";
  }
  static bool IsLinearMap(const Node& node) {
    return node.op_type() == "Linear" || node.op_type() == "Conv" || node.op_type() == "Gemm" ||
           node.op_type() == "Einsum" ||
           (node.op_type() == "MatMul" &&
            (node.input(0)->is_constant() || node.input(1)->is_constant()));
  }

  static Result Pass(Node* node, Result scores) {
    if (scores.has_value()) scores->nodes.insert(scores->nodes.begin(), node);
    return scores;
  }

  Result Product(Node* node, const std::vector<SymInt>& dims) {
    // Constant queries or keys: learned ones of a batch whose size the exporter fixed. A constant
    // matrix on the right is a projection.
    if (node->input(1)->is_constant() && node->input(1)->constant()->rank() < 3)
      return Between(*node);
    const int rank = static_cast<int>(dims.size());
    if (facts_.RankOf(node->input(0)) < 2 || facts_.RankOf(node->input(1)) < 2 || rank > 5) {
      return No(absl::StrCat("the operands of ", node->description(), " are not heads"));
    }
    Scores scores;
    scores.matmul = node;
    scores.matmul_dims = dims;
    scores.nodes = {node};
    return scores;
  }

  // Scores on one side, a bias on the other; whichever side leads to a product.
  Result Sum(Node* node, const std::vector<SymInt>& dims, int steps) {
    for (const int side : {0, 1}) {
      Value* bias = node->input(1 - side);
      if (!Fills(node->input(side), dims)) continue;
      Result scores = Find(node->input(side), steps - 1);
      if (!scores.has_value()) continue;
      if (Closes(*scores, bias, 1)) return Pass(node, std::move(scores));
      if (!TakesBias(*node, *scores)) return std::nullopt;
      scores->biases.push_back({Term(bias, node->input(side), *scores), 1, {}});
      return Pass(node, std::move(scores));
    }
    return No(absl::StrCat("no operand of ", node->description(), " is a product of two matrices"));
  }

  // Whether something may be added, whatever the scores are masked with.
  bool TakesBias(const Node& node, Scores& scores) {
    if (MasksBecomeBiases(scores)) return true;
    if (scores.biases_last || (scores.biases.empty() && scores.floored == 0)) {
      scores.biases_last = true;
      return true;
    }
    why_ = absl::StrCat(node.description(), " adds to scores that are already masked by ",
                        scores.mask_value);
    return false;
  }

  // What GPT and GPT-2 had before Where: scores · b + closed · (1 - b), where b is 1 or 0. Whether
  // `term` is the latter, times sign, which `scores` then hold.
  static bool Closes(Scores& scores, Value* term, double sign) {
    double closed = 0;
    Node* product = term->producer();
    if (scores.masks.size() != 1 || !scores.masks[0].is_number || !scores.biases.empty() ||
        product == nullptr || !(IsOp(product, "Mul") || IsOp(product, "Div"))) {
      return false;
    }
    const Value* inverse = ScaledOperand(*product, closed);
    const Node* difference = inverse == nullptr ? nullptr : inverse->producer();
    if (!IsOp(difference, "Sub") || UniformOf(difference->input(0)) != 1.0 ||
        difference->input(1) != scores.masks[0].operand.value) {
      return false;
    }
    scores.mask_value += sign * closed;
    return std::isfinite(scores.mask_value);
  }

  // Whether all elements are 1 or 0.
  bool IsOneOrZero(const Value* value) {
    constexpr int64_t kMaxElements = 1 << 24;
    for (int i = 0; i < 8 && value->producer() != nullptr && IsViewNode(*value->producer()); ++i) {
      value = value->producer()->input(0);
    }
    const Node* cast = value->producer();
    if (IsOp(cast, "Cast")) return facts_.TypeOf(cast->input(0)) == DataType::kBool;
    if (!value->is_constant() || value->constant()->num_elements() > kMaxElements) return false;
    const auto elements = ToDoubles(*value->constant());
    return elements.ok() && absl::c_all_of(*elements, [](double x) { return x == 0 || x == 1; });
  }

  // Finite scores times 1 or 0.
  Result Kept(Node* node, const std::vector<SymInt>& dims, int steps) {
    for (const int side : {0, 1}) {
      Value* kept = node->input(1 - side);
      if (!Fills(node->input(side), dims) || !IsOneOrZero(kept)) continue;
      Result scores = Find(node->input(side), steps - 1);
      if (!scores.has_value()) return scores;
      if (!scores->masks.empty() || scores->shifted || !scores->biases.empty()) break;
      scores->mask_value = 0;
      scores->masks.push_back({Term(kept, node->input(side), *scores), false, true});
      return Pass(node, std::move(scores));
    }
    return Between(*node);
  }

  // What is done to `scores` by an operand.
  ScoreTerm Term(Value* operand, const Value* to, const Scores& scores) {
    return {operand, *facts_.DimsOf(to), scores.picture};
  }

  // Scores that are closed before something is added. To -inf any number may be added later; where
  // scores vanish, closing is as good as adding.
  static bool MasksBecomeBiases(Scores& scores) {
    if (scores.masks.empty() || !std::isfinite(scores.mask_value)) return true;
    if (scores.mask_value > kSwallows) return false;
    for (const Scores::Mask& mask : scores.masks) {
      scores.biases.push_back({mask.operand, 1, scores.mask_value, mask.negated});
    }
    scores.masks.clear();
    return true;
  }

  Result Difference(Node* node, const std::vector<SymInt>& dims, int steps) {
    const std::vector<Node*> maximum = MaximumOfRows(node->input(1), node->input(0));
    if (!maximum.empty()) return Shifted(node, maximum, steps);
    Result scores = Find(node->input(0), steps - 1);
    if (!scores.has_value() || !Fills(node->input(0), dims)) return Between(*node);
    if (Closes(*scores, node->input(1), -1)) return Pass(node, std::move(scores));
    if (!TakesBias(*node, *scores)) return std::nullopt;
    scores->biases.push_back({Term(node->input(1), node->input(0), *scores), -1, {}});
    return Pass(node, std::move(scores));
  }

  // What makes `value` of `rows`: ReduceMax over the last axis, which stays or is put back.
  std::vector<Node*> MaximumOfRows(const Value* value, const Value* rows) {
    Node* last = value->producer();
    if (last == nullptr) return {};
    if (last->input(0) == rows && ReducedAxis(*last, "ReduceMax", facts_) == -1) return {last};
    Node* reduction = IsOp(last, "Unsqueeze") ? last->input(0)->producer() : nullptr;
    if (!IsOp(reduction, "ReduceMax") || reduction->input(0) != rows) return {};
    const bool goes = AttributeOr<int64_t>(*reduction, "keepdims", 1) == 0;
    return goes && IsLastAxis(*last) && IsLastAxis(*reduction) ? std::vector<Node*>{last, reduction}
                                                               : std::vector<Node*>{};
  }

  // Whether the only axis that an Unsqueeze adds or a reduction takes is the last one of the
  // scores.
  bool IsLastAxis(const Node& node) {
    const auto axes = KnownInts(node, "axes", 1, facts_);
    if (!axes.has_value() || axes->size() != 1) return false;
    const Value* widest = IsOp(&node, "Unsqueeze") ? node.output(0) : node.input(0);
    return (*axes)[0] == -1 || (*axes)[0] == facts_.RankOf(widest) - 1;
  }

  // A row's maximum taken off by hand.
  Result Shifted(Node* node, const std::vector<Node*>& maximum, int steps) {
    Result scores = Find(node->input(0), steps - 1);
    if (!scores.has_value()) return scores;
    if (!scores->picture.empty()) return Between(*node);
    scores->shifted = true;
    for (Node* reduction : maximum) scores = Pass(reduction, std::move(scores));
    return Pass(node, std::move(scores));
  }

  // max(scores + biases, least float), as XGLM has it: only what closes can be that low.
  Result Floored(Node* node, const std::vector<SymInt>& dims, int steps) {
    if (node->inputs().size() != 2) return Between(*node);
    for (const int side : {0, 1}) {
      const auto floor = UniformOf(node->input(1 - side));
      if (!floor.has_value() || !(*floor <= kSwallows) || !Fills(node->input(side), dims)) continue;
      Result scores = Find(node->input(side), steps - 1);
      if (!scores.has_value()) return scores;
      if (scores->shifted || scores->floored > 0 || scores->biases_last) return Between(*node);
      scores->mask_value = std::max(scores->mask_value, *floor);
      scores->floored = scores->biases.size();
      scores->floor = *floor;
      return Pass(node, std::move(scores));
    }
    return Between(*node);
  }

  // Rows that hold NaN or infinity come to NaN, which is no row masked everywhere.
  static bool IsMaskValue(double number) {
    return number < std::numeric_limits<double>::infinity();
  }

  Result Choice(Node* node, const std::vector<SymInt>& dims, int steps) {
    for (const int side : {1, 2}) {
      const auto number = UniformOf(node->input(3 - side));
      if (!number.has_value() || !IsMaskValue(*number) || !Fills(node->input(side), dims)) continue;
      Result scores = Find(node->input(side), steps - 1);
      if (!scores.has_value()) return scores;
      if (!scores->masks.empty() && scores->mask_value != *number) {
        why_ = absl::StrCat(node->description(), " masks with ", *number,
                            " scores that are already masked with ", scores->mask_value);
        return std::nullopt;
      }
      if (scores->biases_last) return Between(*node);
      if (scores->shifted && *number > kSwallows) return Between(*node);
      scores->mask_value = *number;
      scores->masks.push_back({Term(node->input(0), node->input(side), *scores), side == 2});
      return Pass(node, std::move(scores));
    }
    return Between(*node);
  }

  // A product or quotient with one number, which may end a softcap.
  Result Scaled(Node* node, int steps) {
    double factor = 1;
    Value* inner = ScaledOperand(*node, factor);
    if (inner == nullptr && IsOp(node, "Mul") &&
        (IsOneOrZero(node->input(0)) || IsOneOrZero(node->input(1)))) {
      return Kept(node, *facts_.DimsOf(node->output(0)), steps);
    }
    if (inner == nullptr && ScaledByConstants(*node)) {
      return No(absl::StrCat("the scale at ", node->description(), " is no single number"));
    }
    if (inner == nullptr) return Between(*node);
    Node* before = inner->producer();
    if (before != nullptr && before->op_type() == "Tanh" && before->domain().empty()) {
      return Capped(node, before, factor, steps);
    }
    Result scores = Find(inner, steps - 1);
    if (!scores.has_value()) return scores;
    if (scores->softcap != 0) return Between(*node);
    if (!scores->masks.empty()) scores->mask_value *= factor;
    if (!IsMaskValue(scores->mask_value)) return Between(*node);
    if (scores->floored > 0 && factor <= 0) return Between(*node);
    for (ScoreBias& bias : scores->biases) bias.factor *= factor;
    scores->floor *= factor;
    scores->scale *= factor;
    return Pass(node, std::move(scores));
  }

  static bool ScaledByConstants(const Node& node) {
    return node.input(0)->is_constant() || node.input(1)->is_constant();
  }

  // cap * tanh(x / cap).
  Result Capped(Node* product, Node* tanh, double cap, int steps) {
    Result scores = Find(tanh->input(0), steps - 1);
    if (!scores.has_value()) return scores;
    if (scores->softcap != 0 || !scores->biases.empty() || !scores->masks.empty() || cap <= 0 ||
        scores->shifted) {
      return Between(*tanh);
    }
    // The quotient is a part of the scale by now.
    scores->softcap = cap;
    scores->scale *= cap;
    return Pass(product, Pass(tanh, std::move(scores)));
  }

  // A view that leaves queries and keys alone and only regroups the axes before.
  Result Rearranged(Node* node, const std::vector<SymInt>& dims, int steps) {
    const std::vector<SymInt>* inner = facts_.DimsOf(node->input(0));
    const std::string& op = node->op_type();
    if (op == "Transpose") return Swapped(node, dims, steps);
    const bool regroups =
        op == "Reshape" || op == "Squeeze" || op == "Unsqueeze" || op == "Flatten";
    if (!regroups || inner == nullptr || inner->size() < 2) return Between(*node);
    Result scores = Find(node->input(0), steps - 1);
    if (!scores.has_value()) return scores;
    const bool is_picture = !scores->picture.empty();
    if (!is_picture && KeepsLastTwo(dims, *inner)) return Pass(node, std::move(scores));
    // Whatever the view, elements keep their order: one that leads back to queries and keys undoes
    // it.
    const std::vector<SymInt>& product = scores->matmul_dims;
    if (is_picture && std::equal(dims.end() - 2, dims.end(), product.end() - 2)) {
      LeavePicture(*scores, dims);
      return Pass(node, std::move(scores));
    }
    if (!LeadingAxes(dims, product).has_value()) {
      return No(absl::StrCat(node->description(), " gives the scores other queries or keys"));
    }
    scores->picture = dims;
    return Pass(node, std::move(scores));
  }

  // Scores computed as K Q^T.
  Result Swapped(Node* node, const std::vector<SymInt>& dims, int steps) {
    const std::vector<Traced> chain = Trace(node->output(0), facts_);
    if (chain.size() < 2) return Between(*node);
    const std::vector<int64_t> order = SwapOfLastTwo(static_cast<int>(dims.size()));
    const View inner = View::Dense(*facts_.DimsOf(node->input(0)));
    if (!(inner.Transposed(order) == chain[1].view)) return Between(*node);
    Result scores = Find(node->input(0), steps - 1);
    if (!scores.has_value()) return scores;
    // What was added or masked before lies the other way round.
    const bool changed = !scores->biases.empty() || !scores->masks.empty() || scores->shifted;
    if (changed || !scores->picture.empty()) return Between(*node);
    scores->swapped = !scores->swapped;
    std::swap(scores->matmul_dims[dims.size() - 1], scores->matmul_dims[dims.size() - 2]);
    return Pass(node, std::move(scores));
  }

  // Whether an operand has all the extents of the result, so that the other one broadcasts to it.
  // Where names differ, as a mask's may, the run will tell: the operator refuses what does not fit.
  bool Fills(const Value* value, const std::vector<SymInt>& dims) {
    const std::vector<SymInt>* of = facts_.DimsOf(value);
    if (of == nullptr || of->size() != dims.size()) return false;
    for (size_t i = 0; i < dims.size(); ++i) {
      if ((*of)[i] != dims[i] && (*of)[i].constant().has_value()) return false;
    }
    return true;
  }

  Facts& facts_;
  std::string& why_;
  int visits_left_ = 256;
};

}  // namespace

std::optional<Scores> FindScores(Value* value, Facts& facts, std::string& why) {
  std::optional<Sinks> sinks = FindSinks(value, facts);
  auto scores = ScoreWalk(facts, why).Find(sinks.has_value() ? sinks->scores : value, kMaxSteps);
  if (!scores.has_value()) return scores;
  if (!scores->picture.empty()) {
    why = "the keys lie on more than one axis";
    return std::nullopt;
  }
  if (!sinks.has_value()) return scores;
  if (scores->shifted) {
    why = absl::StrCat("the scores that ", sinks->nodes.back()->description(),
                       " puts sinks beside are relative to the greatest of their row");
    return std::nullopt;
  }
  scores->nodes.insert(scores->nodes.begin(), sinks->nodes.begin(), sinks->nodes.end());
  scores->sinks = std::move(sinks);
  return scores;
}

}  // namespace attnrun

// SPDX-License-Identifier: Apache-2.0
#include "optimizer/optimizer.h"

#include <algorithm>
#include <array>
#include <limits>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/status.h"
#include "graph/checker.h"
#include "optimizer/analysis/body_facts.h"
#include "optimizer/rewrite/pass.h"
#include "optimizer/rewrite/shared_constants.h"
#include "optimizer/rules/activation/gelu.h"
#include "optimizer/rules/activation/swish.h"
#include "optimizer/rules/attention/attention.h"
#include "optimizer/rules/attention/flattened_scores.h"
#include "optimizer/rules/attention/join_heads.h"
#include "optimizer/rules/attention/joined_products.h"
#include "optimizer/rules/attention/mask.h"
#include "optimizer/rules/attention/operands.h"
#include "optimizer/rules/attention/row_factors.h"
#include "optimizer/rules/attention/scores_by_query.h"
#include "optimizer/rules/attention/softmax.h"
#include "optimizer/rules/attention/softmax_with_sink.h"
#include "optimizer/rules/attention/stacked_scores.h"
#include "optimizer/rules/attention/standard_attention.h"
#include "optimizer/rules/attention/transposed_probabilities.h"
#include "optimizer/rules/canonical/broadcasts.h"
#include "optimizer/rules/canonical/floor_division.h"
#include "optimizer/rules/canonical/known_branches.h"
#include "optimizer/rules/canonical/known_conditions.h"
#include "optimizer/rules/canonical/masked_fill.h"
#include "optimizer/rules/canonical/narrow_sums.h"
#include "optimizer/rules/canonical/padded_convolution.h"
#include "optimizer/rules/canonical/select_rows.h"
#include "optimizer/rules/canonical/shuffled_lists.h"
#include "optimizer/rules/canonical/slice_assignments.h"
#include "optimizer/rules/canonical/split_slices.h"
#include "optimizer/rules/canonical/squares.h"
#include "optimizer/rules/cleanup/common_subexpressions.h"
#include "optimizer/rules/cleanup/constant_folding.h"
#include "optimizer/rules/cleanup/dead_code.h"
#include "optimizer/rules/cleanup/no_ops.h"
#include "optimizer/rules/cleanup/shape_folding.h"
#include "optimizer/rules/cleanup/views.h"
#include "optimizer/rules/contrib/contrib_operators.h"
#include "optimizer/rules/embedding/embedding_sum.h"
#include "optimizer/rules/embedding/masked_mean.h"
#include "optimizer/rules/embedding/position_rows.h"
#include "optimizer/rules/heads/head_normalization.h"
#include "optimizer/rules/heads/packed_rotary.h"
#include "optimizer/rules/linear/einsum.h"
#include "optimizer/rules/linear/epilogue.h"
#include "optimizer/rules/linear/gated_activation.h"
#include "optimizer/rules/linear/linear.h"
#include "optimizer/rules/linear/pointwise_convolution.h"
#include "optimizer/rules/normalization/group_normalization.h"
#include "optimizer/rules/normalization/layer_normalization.h"
#include "optimizer/rules/normalization/rms_normalization.h"
#include "optimizer/rules/projection/qkv.h"
#include "optimizer/rules/quantization/block_quantized_linear.h"
#include "optimizer/rules/quantization/quantized_linear.h"
#include "optimizer/rules/quantization/requantization.h"
#include "optimizer/rules/relative/relative_positions.h"
#include "optimizer/rules/relative/relative_scores.h"
#include "optimizer/rules/relative/take_along_axis.h"
#include "optimizer/rules/rotary/rotary_embedding.h"
#include "optimizer/rules/rows/needed_rows.h"
#include "optimizer/rules/views/hoist_views.h"
#include "optimizer/rules/views/joined_operands.h"
#include "optimizer/rules/views/reduced_views.h"
#include "optimizer/rules/views/sink_views.h"

namespace attnrun::opt {
namespace {

constexpr Pass kConstantFolding = {"constant_folding", FoldConstants};
constexpr Pass kShapeFolding = {"shape_folding", FoldShapes};
constexpr Pass kNoOps = {"no_ops", RemoveNoOps};
constexpr Pass kCommonSubexpressions = {"common_subexpressions", MergeCommonSubexpressions};
constexpr Pass kViews = {"views", SimplifyViews};
constexpr Pass kDeadCode = {"dead_code", RemoveDeadCode};

#ifdef NDEBUG
constexpr bool kDebug = false;
#else
constexpr bool kDebug = true;
#endif

// The table of contents. Passes of clean-up come again after what leaves them work.
constexpr std::array kPasses = {
    Pass{"contrib_operators", ExpandContribOperators},
    kConstantFolding,
    kShapeFolding,
    kConstantFolding,
    kNoOps,
    Pass{"requantization", RemoveRequantization},
    Pass{"known_conditions", DecideConditions},
    Pass{"known_branches", TakeKnownBranches},
    Pass{"floor_division", FuseFloorDivision},
    Pass{"masked_fill", ChooseByMasks},
    Pass{"shuffled_lists", GatherShuffledLists},
    Pass{"slice_assignments", JoinAssignedSlices},
    Pass{"padded_convolution", PadInConvolutions},
    kCommonSubexpressions,
    kViews,
    Pass{"layer_normalization", FuseLayerNormalization},
    Pass{"rms_normalization", FuseRmsNormalization},
    Pass{"group_normalization", FuseGroupNormalization},
    Pass{"gelu", FuseGelu},
    Pass{"swish", FuseSwish},
    Pass{"softmax", FuseSoftmax},
    Pass{"softmax_with_sink", FuseSoftmaxWithSink},
    Pass{"rotary_embedding", FuseRotaryEmbedding},
    kDeadCode,
    Pass{"einsum", RewriteEinsums},
    Pass{"pointwise_convolution", RewritePointwiseConvolutions},
    Pass{"linear", FuseLinear},
    Pass{"quantized_linear", FuseQuantizedLinear},
    Pass{"block_quantized_linear", FuseBlockQuantizedLinear},
    Pass{"sink_views", SinkViews},
    Pass{"flattened_scores", KeepAxesOfScores},
    kViews,
    Pass{"row_factors", MoveRowFactors},
    Pass{"transposed_probabilities", TurnTransposedProbabilities},
    Pass{"scores_by_query", TurnScoresByQuery},
    Pass{"stacked_scores", KeepOrderOfScores},
    Pass{"joined_products", JoinProducts},
    Pass{"attention", FuseAttention},
    Pass{"standard_attention", ConvertStandardAttention},
    Pass{"attention_mask", SimplifyMasks},
    kDeadCode,
    // Before projections merge: Q's may be needed of fewer rows than K's and V's.
    Pass{"needed_rows", SelectNeededRows},
    Pass{"qkv_projection", MergeQkvProjections},
    Pass{"sibling_projection", MergeSiblingProjections},
    Pass{"hoist_views", HoistViews},
    Pass{"attention_operands", AbsorbViews},
    kViews,
    kDeadCode,
    Pass{"attention_heads", JoinHeads},
    Pass{"head_normalization", PackHeadNormalizations},
    // Q and K are rotated together where their angles are one value.
    kCommonSubexpressions,
    Pass{"packed_rotary", PackRotaryEmbeddings},
    Pass{"squares", MultiplySquares},
    Pass{"narrow_sums", NarrowSums},
    Pass{"select_rows", SelectRows},
    Pass{"split_slices", SplitSlices},
    Pass{"position_rows", SlicePositionTables},
    Pass{"joined_operands", SplitJoinedOperands},
    Pass{"broadcasts", DropBroadcasts},
    Pass{"take_along_axis", TakeAlongAxes},
    Pass{"relative_scores", FuseRelativeScores},
    Pass{"relative_positions", ComputePerDistance},
    Pass{"embedding_sum", FuseEmbeddingSum},
    Pass{"masked_mean", FuseMaskedMean},
    Pass{"reduced_views", ReduceBehindViews},
    Pass{"gated_activation", FuseGatedActivation},
    Pass{"activation", FuseActivation},
    Pass{"residual", FuseResidual},
    kCommonSubexpressions,
    kDeadCode,
};

std::vector<Pass>& ExtraPasses() {
  static std::vector<Pass> passes;
  return passes;
}

std::vector<Pass> AllPasses() {
  std::vector<Pass> passes(kPasses.begin(), kPasses.end());
  passes.insert(passes.end(), ExtraPasses().begin(), ExtraPasses().end());
  return passes;
}

absl::Status CheckPassName(const std::string& name) {
  const std::vector<std::string> names = PassNames();
  if (absl::c_linear_search(names, name)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("there is no optimizer pass '", name,
                                                 "'; the passes are ", absl::StrJoin(names, ", ")));
}

// The passes that are to run, in their order.
std::vector<Pass> ChosenPasses(const OptimizerOptions& options) {
  std::vector<Pass> passes = AllPasses();
  while (!passes.empty() && !options.stop_after.empty() &&
         passes.back().name != options.stop_after) {
    passes.pop_back();
  }
  std::erase_if(passes, [&](const Pass& pass) {
    return absl::c_linear_search(options.disabled_passes, pass.name);
  });
  return passes;
}

// Initializers, those of bodies included.
int64_t ConstantBytes(const Graph& graph) {
  int64_t bytes = 0;
  for (const Value* value : graph.values()) {
    if (value->constant() != nullptr) bytes += static_cast<int64_t>(value->constant()->byte_size());
  }
  for (const Node* node : graph.nodes()) {
    for (const auto& [name, attribute] : node->attributes()) {
      const auto* body = std::get_if<std::shared_ptr<Graph>>(&attribute);
      if (body != nullptr) bytes += ConstantBytes(**body);
    }
  }
  return bytes;
}

// In proportion to the file: a tensor that is joined with itself sixty times has a small one.
int64_t FoldableBytes(const Graph& graph) {
  constexpr int64_t kAlways = int64_t{256} << 20;
  constexpr int64_t kTimes = 16;
  // Many initializers may lie in the same place of a file.
  constexpr int64_t kMost = int64_t{1} << 50;
  return kAlways + kTimes * std::min(ConstantBytes(graph), kMost);
}

// The passes over one model.
class Optimizer {
 public:
  Optimizer(Graph& graph, const OptimizerOptions& options)
      : main_(graph),
        passes_(ChosenPasses(options)),
        check_graph_(options.check_graph || kDebug),
        rewrites_left_(options.max_rewrites < 0 ? std::numeric_limits<int64_t>::max()
                                                : options.max_rewrites),
        foldable_bytes_(FoldableBytes(graph)) {}

  // Round after round: one pass's rewrite may be what another one waited for.
  absl::Status Run() {
    constexpr int kMaxRounds = 6;
    for (int round = 0; round < kMaxRounds; ++round) {
      // What has become constant tells more.
      Facts facts(main_);
      ATTNRUN_ASSIGN_OR_RETURN(const int applied, RunRound(main_, facts, ""));
      if (applied == 0) break;
    }
    return absl::OkStatus();
  }

  std::vector<Rewrite>& report() { return report_; }

 private:
  // Runs the passes once, one after the other, on the graph and then on the bodies in it. Returns
  // how many rewrites were applied.
  absl::StatusOr<int> RunRound(Graph& graph, Facts& facts, const std::string& body) {
    int applied = 0;
    for (const Pass& pass : passes_) {
      PassContext context = {graph,   facts,          pass.name,      body,
                             report_, rewrites_left_, foldable_bytes_};
      const absl::StatusOr<int> rewrites = pass.run(context);
      if (!rewrites.ok()) return Annotate(rewrites.status(), pass.name);
      applied += *rewrites;
      if (check_graph_) ATTNRUN_RETURN_IF_ERROR(Annotate(CheckGraph(main_), pass.name));
    }
    for (Node* node : graph.nodes()) {
      ATTNRUN_ASSIGN_OR_RETURN(const int inside, RunBodies(graph, node, facts, body));
      applied += inside;
    }
    return applied;
  }

  absl::StatusOr<int> RunBodies(Graph& graph, Node* node, Facts& facts, const std::string& body) {
    const std::vector<std::pair<std::string, Graph*>> bodies = BodiesOf(*node);
    if (bodies.empty()) return 0;
    // The weights of a body are mostly initializers of the main graph.
    graph.TidyCaptures(node);
    int applied = 0;
    for (const auto& [attribute, inner] : bodies) {
      Facts inside(*inner, facts, BodyInputFacts(*node, attribute, facts));
      const std::string place =
          absl::StrCat(body, body.empty() ? "" : "/", node->name(), ".", attribute);
      ATTNRUN_ASSIGN_OR_RETURN(const int rewrites, RunRound(*inner, inside, place));
      applied += rewrites;
      shared_.Share(*inner);
    }
    graph.TidyCaptures(node);
    return applied;
  }

  static std::vector<std::pair<std::string, Graph*>> BodiesOf(const Node& node) {
    std::vector<std::pair<std::string, Graph*>> bodies;
    for (const auto& [name, attribute] : node.attributes()) {
      const auto* body = std::get_if<std::shared_ptr<Graph>>(&attribute);
      if (body != nullptr) bodies.emplace_back(name, body->get());
    }
    return bodies;
  }

  Graph& main_;
  const std::vector<Pass> passes_;
  const bool check_graph_;
  int64_t rewrites_left_;
  int64_t foldable_bytes_;
  std::vector<Rewrite> report_;
  // What the bodies were given each on its own, such as weights side by side.
  SharedConstants shared_;
};

// Near misses that every round reports count once, and those that a later round applied not at all.
void ForgetWhatWasDoneLater(std::vector<Rewrite>& report) {
  absl::flat_hash_set<std::string> said;
  absl::flat_hash_set<std::string> done;
  const auto place = [](const Rewrite& rewrite, const std::string& node) {
    return absl::StrCat(rewrite.pass, "@", rewrite.body, "@", node);
  };
  for (const Rewrite& rewrite : report) {
    if (!rewrite.applied) continue;
    for (const std::string& node : rewrite.nodes) done.insert(place(rewrite, node));
  }
  std::erase_if(report, [&](const Rewrite& rewrite) {
    if (rewrite.applied) return false;
    for (const std::string& node : rewrite.nodes) {
      if (done.contains(place(rewrite, node))) return true;
    }
    return !said.insert(place(rewrite, rewrite.reason)).second;
  });
}

}  // namespace

ScopedPass::ScopedPass(const Pass& pass) { ExtraPasses().push_back(pass); }
ScopedPass::~ScopedPass() { ExtraPasses().pop_back(); }

std::vector<std::string> PassNames() {
  std::vector<std::string> names;
  for (const Pass& pass : AllPasses()) {
    if (!absl::c_linear_search(names, pass.name)) names.emplace_back(pass.name);
  }
  return names;
}

absl::StatusOr<std::vector<Rewrite>> Optimize(Graph& graph, const OptimizerOptions& options) {
  for (const std::string& name : options.disabled_passes) {
    ATTNRUN_RETURN_IF_ERROR(CheckPassName(name));
  }
  if (!options.stop_after.empty()) ATTNRUN_RETURN_IF_ERROR(CheckPassName(options.stop_after));
  Optimizer optimizer(graph, options);
  const absl::Status status = optimizer.Run();
  // A patch is applied whole or not at all: where the rewrites are cut off the graph is sound.
  if (!status.ok() && !absl::IsCancelled(status)) return status;
  ForgetWhatWasDoneLater(optimizer.report());
  return std::move(optimizer.report());
}

}  // namespace attnrun::opt

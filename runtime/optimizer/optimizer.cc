#include "optimizer/optimizer.h"

#include <array>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/status.h"
#include "graph/checker.h"
#include "optimizer/canonicalize/broadcasts.h"
#include "optimizer/canonicalize/common_subexpressions.h"
#include "optimizer/canonicalize/constant_folding.h"
#include "optimizer/canonicalize/dead_code.h"
#include "optimizer/canonicalize/known_conditions.h"
#include "optimizer/canonicalize/narrow_sums.h"
#include "optimizer/canonicalize/no_ops.h"
#include "optimizer/canonicalize/select_rows.h"
#include "optimizer/canonicalize/shape_folding.h"
#include "optimizer/canonicalize/split_slices.h"
#include "optimizer/canonicalize/views.h"
#include "optimizer/fusions/attention/attention.h"
#include "optimizer/fusions/attention/join_heads.h"
#include "optimizer/fusions/attention/mask.h"
#include "optimizer/fusions/attention/operands.h"
#include "optimizer/fusions/attention/row_factors.h"
#include "optimizer/fusions/attention/standard_attention.h"
#include "optimizer/fusions/attention/transposed_probabilities.h"
#include "optimizer/fusions/einsum.h"
#include "optimizer/fusions/embedding_sum.h"
#include "optimizer/fusions/epilogue.h"
#include "optimizer/fusions/gated_activation.h"
#include "optimizer/fusions/gelu.h"
#include "optimizer/fusions/heads/head_normalization.h"
#include "optimizer/fusions/heads/packed_rotary.h"
#include "optimizer/fusions/layer_normalization.h"
#include "optimizer/fusions/linear.h"
#include "optimizer/fusions/masked_mean.h"
#include "optimizer/fusions/pointwise_convolution.h"
#include "optimizer/fusions/position_rows.h"
#include "optimizer/fusions/projection/qkv.h"
#include "optimizer/fusions/rms_normalization.h"
#include "optimizer/fusions/rotary_embedding.h"
#include "optimizer/fusions/rows/needed_rows.h"
#include "optimizer/fusions/sink_views.h"
#include "optimizer/fusions/softmax.h"
#include "optimizer/fusions/swish.h"
#include "optimizer/pass.h"

namespace attnrun {
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
    kConstantFolding,
    kShapeFolding,
    kConstantFolding,
    kNoOps,
    Pass{"known_conditions", DecideConditions},
    kCommonSubexpressions,
    kViews,
    Pass{"layer_normalization", FuseLayerNormalization},
    Pass{"rms_normalization", FuseRmsNormalization},
    Pass{"gelu", FuseGelu},
    Pass{"swish", FuseSwish},
    Pass{"softmax", FuseSoftmax},
    Pass{"rotary_embedding", FuseRotaryEmbedding},
    kDeadCode,
    Pass{"einsum", RewriteEinsums},
    Pass{"pointwise_convolution", RewritePointwiseConvolutions},
    Pass{"linear", FuseLinear},
    Pass{"sink_views", SinkViews},
    kViews,
    Pass{"row_factors", MoveRowFactors},
    Pass{"transposed_probabilities", TurnTransposedProbabilities},
    Pass{"attention", FuseAttention},
    Pass{"standard_attention", ConvertStandardAttention},
    Pass{"attention_mask", SimplifyMasks},
    kDeadCode,
    // Before projections merge: Q's may be needed of fewer rows than K's and V's.
    Pass{"needed_rows", SelectNeededRows},
    Pass{"qkv_projection", MergeQkvProjections},
    Pass{"sibling_projection", MergeSiblingProjections},
    Pass{"attention_operands", AbsorbViews},
    kViews,
    kDeadCode,
    Pass{"attention_heads", JoinHeads},
    Pass{"head_normalization", PackHeadNormalizations},
    // Q and K are rotated together where their angles are one value.
    kCommonSubexpressions,
    Pass{"packed_rotary", PackRotaryEmbeddings},
    Pass{"narrow_sums", NarrowSums},
    Pass{"select_rows", SelectRows},
    Pass{"split_slices", SplitSlices},
    Pass{"position_rows", SlicePositionTables},
    Pass{"broadcasts", DropBroadcasts},
    Pass{"embedding_sum", FuseEmbeddingSum},
    Pass{"masked_mean", FuseMaskedMean},
    Pass{"gated_activation", FuseGatedActivation},
    Pass{"activation", FuseActivation},
    Pass{"residual", FuseResidual},
    kCommonSubexpressions,
    kDeadCode,
};

absl::Status CheckPassName(const std::string& name) {
  const std::vector<std::string> names = PassNames();
  if (absl::c_linear_search(names, name)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("there is no optimizer pass '", name,
                                                 "'; the passes are ", absl::StrJoin(names, ", ")));
}

// How many of the passes run.
size_t Count(const std::string& stop_after) {
  if (stop_after.empty()) return kPasses.size();
  size_t count = kPasses.size();
  while (count > 0 && kPasses[count - 1].name != stop_after) --count;
  return count;
}

// Runs the passes once, one after the other. Returns how many rewrites were applied.
absl::StatusOr<int> RunRound(const OptimizerOptions& options, Graph& graph, Facts& facts,
                             std::vector<Rewrite>& report) {
  int applied = 0;
  for (const Pass& pass : absl::MakeSpan(kPasses).first(Count(options.stop_after))) {
    if (absl::c_linear_search(options.disabled_passes, pass.name)) continue;
    PassContext context = {graph, facts, pass.name, report};
    const absl::StatusOr<int> rewrites = pass.run(context);
    if (!rewrites.ok()) return Annotate(rewrites.status(), pass.name);
    applied += *rewrites;
    if (options.check_graph || kDebug) {
      ATTNRUN_RETURN_IF_ERROR(Annotate(CheckGraph(graph), pass.name));
    }
  }
  return applied;
}

// Near misses that every round reports count once, and those that a later round applied not at all.
void ForgetWhatWasDoneLater(std::vector<Rewrite>& report) {
  absl::flat_hash_set<std::string> said;
  absl::flat_hash_set<std::string> done;
  for (const Rewrite& rewrite : report) {
    if (!rewrite.applied) continue;
    for (const std::string& node : rewrite.nodes)
      done.insert(absl::StrCat(rewrite.pass, "@", node));
  }
  std::erase_if(report, [&](const Rewrite& rewrite) {
    if (rewrite.applied) return false;
    for (const std::string& node : rewrite.nodes) {
      if (done.contains(absl::StrCat(rewrite.pass, "@", node))) return true;
    }
    return !said.insert(absl::StrCat(rewrite.pass, "@", rewrite.reason)).second;
  });
}

}  // namespace

std::vector<std::string> PassNames() {
  std::vector<std::string> names;
  for (const Pass& pass : kPasses) {
    if (!absl::c_linear_search(names, pass.name)) names.emplace_back(pass.name);
  }
  return names;
}

absl::StatusOr<std::vector<Rewrite>> Optimize(Graph& graph, const OptimizerOptions& options) {
  for (const std::string& name : options.disabled_passes) {
    ATTNRUN_RETURN_IF_ERROR(CheckPassName(name));
  }
  if (!options.stop_after.empty()) ATTNRUN_RETURN_IF_ERROR(CheckPassName(options.stop_after));
  std::vector<Rewrite> report;
  // One pass's rewrite may be what another one waited for.
  constexpr int kMaxRounds = 6;
  for (int round = 0; round < kMaxRounds; ++round) {
    // What the last round could not do is what stays undone.
    // What has become constant tells more.
    Facts facts(graph);
    ATTNRUN_ASSIGN_OR_RETURN(const int applied, RunRound(options, graph, facts, report));
    if (applied == 0) break;
  }
  ForgetWhatWasDoneLater(report);
  return report;
}

}  // namespace attnrun

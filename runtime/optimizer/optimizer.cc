#include "optimizer/optimizer.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/status.h"
#include "optimizer/canonicalize/constant_folding.h"
#include "optimizer/canonicalize/dead_code.h"

namespace attnrun {
namespace {

constexpr std::array kPasses = {
    Pass{"constant_folding", FoldConstants},
    Pass{"dead_code", RemoveDeadCode},
};

absl::Status CheckPassName(const std::string& name) {
  const auto named = [&](const Pass& pass) { return pass.name == name; };
  if (std::any_of(kPasses.begin(), kPasses.end(), named)) return absl::OkStatus();
  const auto append = [](std::string* out, const Pass& pass) { absl::StrAppend(out, pass.name); };
  return absl::InvalidArgumentError(absl::StrCat("there is no optimizer pass '", name,
                                                 "'; the passes are ",
                                                 absl::StrJoin(kPasses, ", ", append)));
}

}  // namespace

absl::Span<const Pass> Passes() { return kPasses; }

absl::Status Optimize(Graph& graph, const OptimizerOptions& options) {
  const auto& disabled = options.disabled_passes;
  for (const std::string& name : disabled) ATTNRUN_RETURN_IF_ERROR(CheckPassName(name));
  if (!options.stop_after.empty()) ATTNRUN_RETURN_IF_ERROR(CheckPassName(options.stop_after));
  for (const Pass& pass : kPasses) {
    if (std::find(disabled.begin(), disabled.end(), pass.name) == disabled.end()) {
      ATTNRUN_RETURN_IF_ERROR(Annotate(pass.run(graph).status(), pass.name));
    }
    if (pass.name == options.stop_after) break;
  }
  return absl::OkStatus();
}

}  // namespace attnrun

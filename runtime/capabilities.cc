// SPDX-License-Identifier: Apache-2.0
#include <iterator>

#include "absl/algorithm/container.h"
#include "attnrun/session.h"
#include "attnrun/version.h"
#include "ops/interface/registry.h"
#include "ops/tensors/cpu.h"
#include "optimizer/optimizer.h"
#include "optimizer/pipeline.h"

namespace attnrun {

std::vector<SupportedOp> SupportedOperators() {
  std::vector<SupportedOp> operators;
  for (const ops::OpDef* def : ops::OpRegistry::Get().All()) {
    operators.push_back({def->domain, def->name, def->since, def->has_kernel(), def->has_body()});
  }
  return operators;
}

OpsetRange SupportedOpsets() { return {ops::kOldestOpset, ops::kNewestOpset}; }

namespace {

PassInfo Describe(const opt::Phase& phase, const opt::Rule& rule) {
  PassInfo info = {.name = std::string(rule.name),
                   .phase = std::string(phase.name),
                   .summary = std::string(rule.summary),
                   .anchors = {},
                   .aliases = {},
                   .file = std::string(rule.file)};
  for (const absl::string_view anchor : rule.AllAnchors()) {
    if (!anchor.empty()) info.anchors.emplace_back(anchor);
  }
  for (const absl::string_view alias : rule.aliases) {
    if (!alias.empty()) info.aliases.emplace_back(alias);
  }
  return info;
}

}  // namespace

std::vector<PassInfo> DescribePasses() {
  std::vector<PassInfo> passes;
  for (const opt::Rule* rule : opt::CleanUp().rules) {
    passes.push_back(Describe(opt::CleanUp(), *rule));
  }
  for (const opt::Phase& phase : opt::Phases()) {
    for (const opt::Rule* rule : phase.rules) passes.push_back(Describe(phase, *rule));
  }
  return passes;
}

std::vector<std::string> OptimizerPasses() {
  std::vector<std::string> names = opt::PassNames();
  for (const PassInfo& pass : DescribePasses()) {
    absl::c_copy_if(pass.aliases, std::back_inserter(names),
                    [&](const std::string& alias) { return !absl::c_linear_search(names, alias); });
  }
  return names;
}

absl::string_view Version() { return ATTNRUN_VERSION; }

std::string UsedInstructionSets() { return ops::ThisCpu().Names(); }

}  // namespace attnrun

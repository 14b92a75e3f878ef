// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "core/parallel.h"
#include "fuzz/mutate.h"
#include "fuzz/runs.h"
#include "fuzz/shrink.h"
#include "loader/loader.h"
#include "models/archived_models.h"

// Real exports with one to three random changes. After optimization they compute the results of the
// reference, unless the reference refuses them. ATTNRUN_MUTATIONS=N tries N fresh ones;
// ATTNRUN_TEST_SEED sets the first seed.
namespace attnrun::testing {
namespace {

struct Mutant {
  std::string origin;
  Trial trial;
};

// Returns null if the model has subgraphs.
std::optional<Mutant> MakeMutant(const std::vector<Export>& models, uint32_t seed) {
  std::mt19937 generator(seed);
  const Export& model = models[generator() % models.size()];
  const auto loaded = loader::LoadModel(InModels(model.file));
  if (!loaded.ok()) return std::nullopt;
  auto draft = DraftOf(*loaded->graph);
  if (!draft.ok()) return std::nullopt;
  Mutant mutant = {model.file, {*std::move(draft), {}}};
  for (const Case& one : model.cases) mutant.trial.bindings.push_back(ReadNpz(one.inputs));
  const uint32_t wanted = 1 + generator() % 3;
  for (uint32_t done = 0; done < wanted;) {
    const std::string what = Mutate(mutant.trial.draft, generator);
    if (!what.empty()) absl::StrAppend(&mutant.origin, done++ == 0 ? ": " : "; ", what);
  }
  return mutant;
}

TEST(MutationsTest, OptimizedMutantsComputeTheSame) {
  SetNumThreads(1);
  const std::vector<Export> models = ReadManifest();
  const Runs runs = ChooseRuns("ATTNRUN_MUTATIONS", 100);
  for (uint32_t seed = runs.first; seed != runs.first + runs.count; ++seed) {
    const auto mutant = MakeMutant(models, seed);
    if (!mutant.has_value()) continue;
    const std::optional<Failure> failure = Check(mutant->trial);
    if (!failure.has_value()) continue;
    const Trial small = Shrunk(mutant->trial, *failure);
    ADD_FAILURE() << "ATTNRUN_TEST_SEED=" << seed << " ATTNRUN_MUTATIONS=1 is " << mutant->origin
                  << "\n"
                  << Reproducer(small, Check(small).value_or(*failure));
  }
}

}  // namespace
}  // namespace attnrun::testing

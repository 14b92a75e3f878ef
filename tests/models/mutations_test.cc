// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "core/parallel.h"
#include "execution/kinds.h"
#include "execution/support.h"
#include "fuzz/mutate.h"
#include "fuzz/runs.h"
#include "fuzz/shrink.h"
#include "loader/loader.h"
#include "models/archived_models.h"

// Real exports with one to three random changes. After optimization they compute the results of the
// reference, unless the reference refuses them. ATTNRUN_MUTATIONS=N tries N fresh ones;
// ATTNRUN_TEST_SEED sets the first seed; ATTNRUN_MUTATION_MODELS=FOLDER changes the models below a
// folder, on made-up inputs.
namespace attnrun::testing {
namespace {

struct Mutant {
  std::string origin;
  Trial trial;
};

// The models of both archives of exports.
std::vector<Export> ArchivedModels() {
  std::vector<Export> models = ReadManifest();
  const std::string zoo = "../zoo/";
  for (Export& model : ReadManifest(InModels(zoo))) {
    model.file = zoo + model.file;
    for (Case& one : model.cases) one.inputs = zoo + one.inputs;
    models.push_back(std::move(model));
  }
  return models;
}

std::vector<Export> Models() {
  const char* const folder = std::getenv("ATTNRUN_MUTATION_MODELS");
  if (folder == nullptr) return ArchivedModels();
  std::vector<Export> models;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".onnx") continue;
    const auto path = std::filesystem::relative(entry.path(), ATTNRUN_TEST_MODELS);
    models.push_back({path.string(), {}, {}});
  }
  std::ranges::sort(models, {}, &Export::file);
  return models;
}

// Inputs as `attnrun MODEL` makes them up.
std::vector<TensorMap> MadeUpInputs(const std::string& path) {
  const auto session = Session::Load(path);
  if (!session.ok()) return {};
  cli::LazyFitter fitter(path);
  const auto inputs = cli::GatherInputs(session->inputs(), {}, fitter);
  if (!inputs.ok()) return {};
  return {inputs->tensors};
}

// True if a session would begin to optimize the graph.
bool Loads(const Draft& draft) {
  const auto graph = Build(draft);
  return graph.ok() && exec::CheckSupported(**graph).ok() && exec::FindKinds(**graph).ok();
}

// Returns null if the model has subgraphs, or no inputs, or if the mutant is refused.
std::optional<Mutant> MakeMutant(const std::vector<Export>& models, uint32_t seed) {
  std::mt19937 generator(seed);
  const Export& model = models[generator() % models.size()];
  const std::string path = InModels(model.file);
  const auto loaded = loader::LoadModel(path);
  if (!loaded.ok()) return std::nullopt;
  auto draft = DraftOf(*loaded->graph);
  if (!draft.ok() || draft->nodes.empty()) return std::nullopt;
  Mutant mutant = {model.file, {*std::move(draft), {}}};
  for (const Case& one : model.cases) mutant.trial.bindings.push_back(ReadNpz(one.inputs));
  if (model.cases.empty()) mutant.trial.bindings = MadeUpInputs(path);
  if (mutant.trial.bindings.empty()) return std::nullopt;
  const uint32_t wanted = 1 + generator() % 3;
  for (uint32_t done = 0; done < wanted;) {
    const std::string what = Mutate(mutant.trial.draft, generator);
    if (!what.empty()) absl::StrAppend(&mutant.origin, done++ == 0 ? ": " : "; ", what);
  }
  return Loads(mutant.trial.draft) ? std::optional(std::move(mutant)) : std::nullopt;
}

TEST(MutationsTest, OptimizedMutantsComputeTheSame) {
  SetNumThreads(1);
  const std::vector<Export> models = Models();
  ASSERT_FALSE(models.empty());
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

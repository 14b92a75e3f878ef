// SPDX-License-Identifier: Apache-2.0
// Models: loads the bytes of a file, and runs what loads.
#include "absl/time/clock.h"
#include "attnrun/session.h"
#include "fuzz/targets/model_mutator.h"
#include "fuzz/targets/small_inputs.h"
#include "fuzz/targets/target.h"

namespace attnrun::testing {
namespace {

SessionOptions SmallOptions(Engine engine) {
  SessionOptions options;
  options.engine = engine;
  options.threads = 1;
  options.limits.file_bytes = 1 << 20;
  options.limits.nodes = 2'000;
  options.limits.function_nodes = 2'000;
  options.limits.folded_bytes = 1 << 22;
  options.limits.tensor_bytes = 1 << 24;
  options.limits.run_bytes = 1 << 25;
  options.limits.body_runs = 1'000;
  return options;
}

void LoadAndRun(absl::string_view bytes, Engine engine) {
  const absl::StatusOr<Session> session = Session::LoadBytes(bytes, SmallOptions(engine));
  if (!session.ok()) return;
  session->GraphText();
  const absl::StatusOr<TensorMap> inputs = SmallInputs(session->inputs());
  if (!inputs.ok()) return;
  RunOptions run;
  run.deadline = absl::Now() + absl::Seconds(1);
  const auto outputs = session->Run(*inputs, run);
  if (outputs.ok() && outputs->size() != session->outputs().size()) Fail("outputs are missing");
}

}  // namespace

const std::vector<std::string>& OperatorNames() {
  static const auto& names = *new std::vector<std::string>([] {
    std::vector<std::string> all;
    for (const SupportedOp& op : SupportedOperators()) all.push_back(op.op_type);
    return all;
  }());
  return names;
}

}  // namespace attnrun::testing

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  attnrun::testing::LoadAndRun(bytes, attnrun::Engine::kOptimized);
  attnrun::testing::LoadAndRun(bytes, attnrun::Engine::kReference);
  return 0;
}

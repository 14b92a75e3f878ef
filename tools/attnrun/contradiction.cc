// SPDX-License-Identifier: Apache-2.0
#include "tools/attnrun/contradiction.h"

#include "absl/strings/str_cat.h"
#include "tools/attnrun/model_run.h"

namespace attnrun::cli {
namespace {

// The dimension that a bench varies; empty if it varies none.
std::string VariedDim(const Options& options) {
  if (options.sweep.has_value()) return options.sweep->dim;
  return options.stream.has_value() ? options.stream->dim : "";
}

}  // namespace

std::string Contradiction(const Options& options) {
  const bool tolerance = options.tolerance.rtol.has_value() || options.tolerance.atol.has_value();
  if (options.command == "run" && tolerance && options.expect.empty()) {
    return "--rtol and --atol need --expect";
  }
  if (options.command == "compare" && options.expect.empty() &&
      options.session.engine == Engine::kReference) {
    return "--engine reference would be compared with itself; add --expect";
  }
  if (options.session.precision != Precision::kFloat32 &&
      options.session.engine == Engine::kReference) {
    return absl::StrCat("--engine reference computes as the model is written, not in --precision ",
                        Name(options.session.precision));
  }
  const bool selects =
      !options.session.disabled_passes.empty() || !options.session.stop_after.empty();
  if (selects && options.session.engine != Engine::kOptimized) {
    return absl::StrCat("--disable and --stop-after concern rewrites, and --engine ",
                        EngineName(options.session.engine), " makes none");
  }
  if (options.graph && options.json) return "--graph prints text; leave out --json";
  const std::string varied = VariedDim(options);
  if (!varied.empty() && options.inputs.dims.count(varied) > 0) {
    return absl::StrCat("--dim ", varied, ": the measurement varies it");
  }
  return "";
}

}  // namespace attnrun::cli

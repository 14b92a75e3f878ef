// SPDX-License-Identifier: Apache-2.0
#include "attnrun/session.h"
#include "checked_options.h"
#include "core/exceptions.h"
#include "core/status.h"
#include "graph/dump.h"
#include "loader/loader.h"
#include "optimizer/optimizer.h"
#include "optimizer_options.h"

namespace attnrun {

absl::StatusOr<std::string> DrawModel(const std::string& path, const SessionOptions& options) {
  return WithoutExceptions([&]() -> absl::StatusOr<std::string> {
    ATTNRUN_ASSIGN_OR_RETURN(const loader::LoadOptions reading, LoadOptionsOf(options));
    ATTNRUN_ASSIGN_OR_RETURN(const loader::Model before, loader::LoadModel(path, reading));
    ATTNRUN_ASSIGN_OR_RETURN(const loader::Model after, loader::LoadModel(path, reading));
    const absl::StatusOr<std::vector<Rewrite>> rewrites =
        opt::Optimize(*after.graph, OptimizerOptionsOf(options));
    if (!rewrites.ok()) return Annotate(rewrites.status(), path);
    return DumpDot(*before.graph, *after.graph);
  });
}

}  // namespace attnrun

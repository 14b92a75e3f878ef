// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TOOLS_ATTNRUN_BISECT_H_
#define ATTNRUN_TOOLS_ATTNRUN_BISECT_H_

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "attnrun/session.h"
#include "tools/attnrun/json.h"
#include "tools/attnrun/options.h"

namespace attnrun::cli {

// The rewrite with which a model starts to differ, or to fail.
struct Culprit {
  // How many are applied in all, and which of them it is, from 1 on; 0: it differs without any.
  int64_t rewrites = 0;
  int64_t number = 0;
  // If there is one.
  Rewrite rewrite;
};

// Whether the model, run in this session, differs.
using Differs = absl::FunctionRef<bool(const Session&)>;

// Finds a rewrite with which the model differs while it does not with those before it alone, by
// loading it with ever more fitting numbers of rewrites. Precondition: it differs with all
// `rewrites`.
absl::StatusOr<Culprit> FindCulprit(const Options& options, int64_t rewrites, Differs differs);

// How many rewrites the session's optimizer applied.
int64_t AppliedRewrites(const Session& session);

// A few lines for people; `verb` says what the model does, "differs" or "fails".
std::string Describe(const Culprit& culprit, absl::string_view verb);

// {"rewrites","number"}, and if there is one {"pass","body","nodes","into"}.
Json ToJson(const Culprit& culprit);

}  // namespace attnrun::cli

#endif  // ATTNRUN_TOOLS_ATTNRUN_BISECT_H_

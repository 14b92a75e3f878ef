// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TOOLS_ATTNRUN_BISECT_H_
#define ATTNRUN_TOOLS_ATTNRUN_BISECT_H_

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "attnrun/session.h"
#include "tools/attnrun/json_fwd.h"
#include "tools/attnrun/options.h"

namespace attnrun::cli {

// The first rewrite with which a model differs, or fails.
struct Culprit {
  // The number of rewrites applied in all, and the number of the culprit among them, counted from
  // 1. Number 0: the model differs without any rewrite.
  int64_t rewrites = 0;
  int64_t number = 0;
  // Set if number > 0.
  Rewrite rewrite;
};

// True if the model, run in this session, differs.
using Differs = absl::FunctionRef<bool(const Session&)>;

// Finds a rewrite such that the model differs with it and all before it, but not with only those
// before it, by bisection over the number of rewrites. Precondition: the model differs with all
// `rewrites`.
absl::StatusOr<Culprit> FindCulprit(const Options& options, int64_t rewrites, Differs differs);

// The number of rewrites that the session's optimizer applied.
int64_t AppliedRewrites(const Session& session);

// A few lines of text; `verb` is "differs" or "fails".
std::string Describe(const Culprit& culprit, absl::string_view verb);

// {"rewrites","number"}; with a culprit also {"pass","body","nodes","into"}.
Json ToJson(const Culprit& culprit);

}  // namespace attnrun::cli

#endif  // ATTNRUN_TOOLS_ATTNRUN_BISECT_H_

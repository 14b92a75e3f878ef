// SPDX-License-Identifier: Apache-2.0
#include "checked_options.h"

#include "absl/strings/str_cat.h"
#include "execution/cpus.h"
#include "known_functions.h"

namespace attnrun {

absl::StatusOr<int> ThreadsOf(const SessionOptions& options) {
  constexpr int kMost = 1024;
  const bool has_pool = options.thread_pool != nullptr;
  const int most = has_pool ? options.thread_pool->threads() : kMost;
  if (options.threads < 0 || options.threads > most) {
    return absl::InvalidArgumentError(absl::StrCat("expected 0 to ", most, " threads",
                                                   has_pool ? ", as the pool has" : "",
                                                   ", but found ", options.threads));
  }
  if (options.threads > 0) return options.threads;
  return has_pool ? most : exec::UsableCpus();
}

absl::StatusOr<loader::LoadOptions> LoadOptionsOf(const SessionOptions& options) {
  const Limits& limits = options.limits;
  for (const int64_t limit :
       {limits.file_bytes, limits.nodes, limits.function_nodes, limits.folded_bytes,
        limits.tensor_bytes, limits.run_bytes, limits.body_runs, limits.waiting_runs}) {
    if (limit >= 0) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("expected limits of 0 or more, but found ", limit));
  }
  constexpr DataType kCacheTypes[] = {DataType::kFloat, DataType::kFloat16, DataType::kBfloat16,
                                      DataType::kInt8};
  if (!absl::c_linear_search(kCacheTypes, options.cache_type)) {
    return absl::InvalidArgumentError(
        absl::StrCat("cache_type: expected float, float16, bfloat16 or int8, but found ",
                     Name(options.cache_type)));
  }
  loader::LoadOptions reading = KnownFunctions();
  if (!options.map_files) reading.access = FileAccess::kRead;
  reading.limits = limits;
  return reading;
}

}  // namespace attnrun

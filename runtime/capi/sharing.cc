// SPDX-License-Identifier: Apache-2.0
// Limits, thread pools, log and metrics of sessions.
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "attnrun/limits.h"
#include "attnrun/metrics.h"
#include "attnrun/thread_pool.h"
#include "core/quote.h"
#include "core/status.h"
#include "session.h"
#include "status.h"

struct attnrun_thread_pool {
  std::shared_ptr<attnrun::ThreadPool> pool;
};

namespace {

using attnrun::Limits;
using attnrun::SessionMetrics;
using attnrun::capi::Guarded;
using attnrun::capi::IsNull;

constexpr std::pair<absl::string_view, int64_t Limits::*> kLimits[] = {
    {"file_bytes", &Limits::file_bytes},         {"nodes", &Limits::nodes},
    {"function_nodes", &Limits::function_nodes}, {"folded_bytes", &Limits::folded_bytes},
    {"tensor_bytes", &Limits::tensor_bytes},     {"run_bytes", &Limits::run_bytes},
    {"body_runs", &Limits::body_runs},           {"waiting_runs", &Limits::waiting_runs}};

constexpr std::pair<absl::string_view, int64_t SessionMetrics::*> kMetrics[] = {
    {"succeeded", &SessionMetrics::succeeded},
    {"cancelled", &SessionMetrics::cancelled},
    {"deadline_exceeded", &SessionMetrics::deadline_exceeded},
    {"refused", &SessionMetrics::refused},
    {"failed", &SessionMetrics::failed},
    {"waiting", &SessionMetrics::waiting},
    {"running", &SessionMetrics::running},
    {"arena_bytes", &SessionMetrics::arena_bytes},
    {"arena_peak_bytes", &SessionMetrics::arena_peak_bytes},
    {"constant_bytes", &SessionMetrics::constant_bytes}};

absl::Status SetLimit(absl::string_view name, int64_t value, Limits& limits) {
  for (const auto& [known, field] : kLimits) {
    if (known != name) continue;
    limits.*field = value;
    return absl::OkStatus();
  }
  const auto append = [](std::string* out, const auto& limit) {
    absl::StrAppend(out, limit.first);
  };
  return absl::InvalidArgumentError(absl::StrCat("there is no limit ", attnrun::Quoted(name),
                                                 "; the limits are ",
                                                 absl::StrJoin(kLimits, ", ", append)));
}

}  // namespace

attnrun_status* attnrun_session_options_set_limit(attnrun_session_options* options,
                                                  const char* name, int64_t limit) {
  return Guarded([&]() -> absl::Status {
    if (options == nullptr) return IsNull("options");
    if (name == nullptr) return IsNull("name");
    return SetLimit(name, limit, options->options.limits);
  });
}

void attnrun_set_heap_limit(int64_t bytes) { attnrun::SetHeapLimit(bytes); }

attnrun_status* attnrun_thread_pool_new(int32_t threads, attnrun_thread_pool** pool) {
  return Guarded([&]() -> absl::Status {
    if (pool == nullptr) return IsNull("pool");
    ATTNRUN_ASSIGN_OR_RETURN(std::shared_ptr<attnrun::ThreadPool> made,
                             attnrun::ThreadPool::Make(threads));
    *pool = new attnrun_thread_pool{std::move(made)};
    return absl::OkStatus();
  });
}

void attnrun_thread_pool_free(attnrun_thread_pool* pool) { delete pool; }

int32_t attnrun_thread_pool_threads(const attnrun_thread_pool* pool) {
  return pool->pool->threads();
}

void attnrun_session_options_set_thread_pool(attnrun_session_options* options,
                                             const attnrun_thread_pool* pool) {
  options->options.thread_pool = pool == nullptr ? nullptr : pool->pool;
}

attnrun_status* attnrun_session_options_set_log(attnrun_session_options* options,
                                                attnrun_log_function log, void* context) {
  return Guarded([&]() -> absl::Status {
    if (options == nullptr) return IsNull("options");
    if (log == nullptr) {
      options->options.log = nullptr;
      return absl::OkStatus();
    }
    options->options.log = [log, context](attnrun::LogLevel level, absl::string_view message) {
      log(context, level == attnrun::LogLevel::kInfo ? 0 : 1, std::string(message).c_str());
    };
    return absl::OkStatus();
  });
}

int64_t attnrun_session_metric(const attnrun_session* session, const char* name) {
  const SessionMetrics metrics = session->session.Metrics();
  const absl::string_view wanted = name;
  if (wanted == "latency_microseconds") return absl::ToInt64Microseconds(metrics.latency.sum);
  if (wanted == "wait_microseconds") return absl::ToInt64Microseconds(metrics.wait.sum);
  for (const auto& [known, field] : kMetrics) {
    if (known == wanted) return metrics.*field;
  }
  return -1;
}

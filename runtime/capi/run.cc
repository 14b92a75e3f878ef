// SPDX-License-Identifier: Apache-2.0
#include "run.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/quote.h"
#include "core/status.h"
#include "session.h"
#include "status.h"
#include "tensor.h"

namespace attnrun::capi {
namespace {

// `kind` is "input" or "output".
template <typename Handle>
absl::StatusOr<TensorMap> ByName(absl::string_view kind, const char* const* names, Handle* tensors,
                                 size_t count) {
  if (count > 0 && names == nullptr) return IsNull(absl::StrCat(kind, "_names"));
  if (count > 0 && tensors == nullptr) return IsNull(absl::StrCat(kind, "s"));
  TensorMap map;
  for (size_t i = 0; i < count; ++i) {
    if (names[i] == nullptr) return IsNull(absl::StrCat(kind, "_names[", i, "]"));
    const Tensor tensor = tensors[i] == nullptr ? Tensor() : tensors[i]->tensor;
    if (map.emplace(names[i], tensor).second) continue;
    return absl::InvalidArgumentError(absl::StrCat(kind, " ", Quoted(names[i]), " is given twice"));
  }
  return map;
}

}  // namespace

RunOptions SettingsOf(const attnrun_run_options* options) {
  RunOptions settings;
  if (options == nullptr) return settings;
  if (options->timeout_microseconds >= 0) {
    settings.deadline = absl::Now() + absl::Microseconds(options->timeout_microseconds);
  }
  settings.memory_limit = options->memory_limit;
  settings.cancel = &options->cancelled;
  return settings;
}

absl::StatusOr<TensorMap> InputsByName(const char* const* names,
                                       const attnrun_tensor* const* tensors, size_t count) {
  return ByName("input", names, tensors, count);
}

absl::StatusOr<TensorMap> OutputsByName(const char* const* names, attnrun_tensor* const* tensors,
                                        size_t count) {
  return ByName("output", names, tensors, count);
}

void Deliver(TensorMap& results, const char* const* names, attnrun_tensor** outputs, size_t count) {
  std::vector<std::unique_ptr<attnrun_tensor>> made(count);
  for (size_t i = 0; i < count; ++i) {
    if (outputs[i] != nullptr) continue;
    made[i] = std::make_unique<attnrun_tensor>();
    made[i]->tensor = std::move(results[names[i]]);
  }
  for (size_t i = 0; i < count; ++i) {
    if (made[i] != nullptr) outputs[i] = made[i].release();
  }
}

}  // namespace attnrun::capi

using attnrun::TensorMap;
using attnrun::capi::Guarded;
using attnrun::capi::IsNull;
using attnrun::capi::MakeOptions;

namespace {

std::vector<const char*> PointersTo(const std::vector<std::string>& strings) {
  std::vector<const char*> pointers;
  pointers.reserve(strings.size());
  for (const std::string& string : strings) pointers.push_back(string.c_str());
  return pointers;
}

}  // namespace

attnrun_status* attnrun_run_options_new(attnrun_run_options** options) {
  return MakeOptions(options);
}

void attnrun_run_options_free(attnrun_run_options* options) { delete options; }

void attnrun_run_options_set_timeout(attnrun_run_options* options, int64_t microseconds) {
  options->timeout_microseconds = microseconds;
}

void attnrun_run_options_set_memory_limit(attnrun_run_options* options, int64_t bytes) {
  options->memory_limit = bytes;
}

void attnrun_run_options_set_cancelled(attnrun_run_options* options, int cancelled) {
  options->cancelled = cancelled != 0;
}

attnrun_status* attnrun_session_run(const attnrun_session* session,
                                    const attnrun_run_options* options,
                                    const char* const* input_names,
                                    const attnrun_tensor* const* inputs, size_t input_count,
                                    const char* const* output_names, attnrun_tensor** outputs,
                                    size_t output_count) {
  return Guarded([&]() -> absl::Status {
    if (session == nullptr) return IsNull("session");
    const attnrun::RunOptions settings = attnrun::capi::SettingsOf(options);
    ATTNRUN_ASSIGN_OR_RETURN(const TensorMap given,
                             attnrun::capi::InputsByName(input_names, inputs, input_count));
    ATTNRUN_ASSIGN_OR_RETURN(TensorMap results,
                             attnrun::capi::OutputsByName(output_names, outputs, output_count));
    ATTNRUN_RETURN_IF_ERROR(session->session.Run(given, results, settings));
    attnrun::capi::Deliver(results, output_names, outputs, output_count);
    return absl::OkStatus();
  });
}

attnrun_status* attnrun_session_run_async(const attnrun_session* session,
                                          const attnrun_run_options* options,
                                          const char* const* input_names,
                                          const attnrun_tensor* const* inputs, size_t input_count,
                                          const char* const* output_names, attnrun_tensor** outputs,
                                          size_t output_count, attnrun_run_done done,
                                          void* context) {
  return Guarded([&]() -> absl::Status {
    if (session == nullptr) return IsNull("session");
    if (done == nullptr) return IsNull("done");
    const attnrun::RunOptions settings = attnrun::capi::SettingsOf(options);
    ATTNRUN_ASSIGN_OR_RETURN(const TensorMap given,
                             attnrun::capi::InputsByName(input_names, inputs, input_count));
    ATTNRUN_ASSIGN_OR_RETURN(TensorMap wanted,
                             attnrun::capi::OutputsByName(output_names, outputs, output_count));
    const std::vector<std::string> names(output_names, output_names + output_count);
    const auto finish = [=](absl::StatusOr<TensorMap> results) {
      done(context, Guarded([&]() -> absl::Status {
             if (!results.ok()) return results.status();
             const std::vector<const char*> wanted_names = PointersTo(names);
             attnrun::capi::Deliver(*results, wanted_names.data(), outputs, names.size());
             return absl::OkStatus();
           }));
    };
    return session->session.RunAsync(given, std::move(wanted), finish, settings);
  });
}

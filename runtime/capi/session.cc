// SPDX-License-Identifier: Apache-2.0
#include "session.h"

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "status.h"

using attnrun::Engine;
using attnrun::capi::Guarded;
using attnrun::capi::IsNull;
using attnrun::capi::MakeOptions;

namespace {

absl::StatusOr<Engine> EngineOf(absl::string_view name) {
  if (name == "optimized") return Engine::kOptimized;
  if (name == "unoptimized") return Engine::kUnoptimized;
  if (name == "reference") return Engine::kReference;
  return absl::InvalidArgumentError(absl::StrCat(
      "there is no engine '", name, "': expected optimized, unoptimized or reference"));
}

// Calls set(options, text) with the settings and a string_view.
template <typename Set>
attnrun_status* SetText(attnrun_session_options* options, const char* text, Set set) {
  return Guarded([&]() -> absl::Status {
    if (options == nullptr) return IsNull("options");
    if (text == nullptr) return IsNull("the value");
    return set(options->options, absl::string_view(text));
  });
}

// Calls load(options), a StatusOr<Session>, and puts the result into `*out`.
template <typename Load>
attnrun_status* Give(const void* model, const attnrun_session_options* options,
                     attnrun_session** out, Load load) {
  return Guarded([&]() -> absl::Status {
    if (model == nullptr) return IsNull("the model");
    if (out == nullptr) return IsNull("session");
    ATTNRUN_ASSIGN_OR_RETURN(
        attnrun::Session session,
        load(options == nullptr ? attnrun::SessionOptions() : options->options));
    *out = new attnrun_session(std::move(session));
    return absl::OkStatus();
  });
}

}  // namespace

attnrun_status* attnrun_session_options_new(attnrun_session_options** options) {
  return MakeOptions(options);
}

void attnrun_session_options_free(attnrun_session_options* options) { delete options; }

attnrun_status* attnrun_session_options_set_engine(attnrun_session_options* options,
                                                   const char* name) {
  return SetText(options, name, [](attnrun::SessionOptions& settings, absl::string_view text) {
    const absl::StatusOr<Engine> engine = EngineOf(text);
    if (engine.ok()) settings.engine = *engine;
    return engine.status();
  });
}

attnrun_status* attnrun_session_options_set_precision(attnrun_session_options* options,
                                                      const char* name) {
  return SetText(options, name, [](attnrun::SessionOptions& settings, absl::string_view text) {
    const absl::StatusOr<attnrun::Precision> precision = attnrun::PrecisionOf(text);
    if (precision.ok()) settings.precision = *precision;
    return precision.status();
  });
}

void attnrun_session_options_set_threads(attnrun_session_options* options, int32_t threads) {
  options->options.threads = threads;
}

void attnrun_session_options_set_few_rows(attnrun_session_options* options, int few_rows) {
  options->options.few_rows = few_rows != 0;
}

void attnrun_session_options_set_cache_type(attnrun_session_options* options, attnrun_type type) {
  options->options.cache_type = static_cast<attnrun::DataType>(type);
}

attnrun_status* attnrun_session_options_set_weight_cache(attnrun_session_options* options,
                                                         const char* path) {
  return SetText(options, path, [](attnrun::SessionOptions& settings, absl::string_view text) {
    settings.weight_cache = std::string(text);
    return absl::OkStatus();
  });
}

void attnrun_session_options_set_verify_weight_cache(attnrun_session_options* options, int verify) {
  options->options.verify_weight_cache = verify != 0;
}

void attnrun_session_options_set_map_files(attnrun_session_options* options, int map) {
  options->options.map_files = map != 0;
}

attnrun_status* attnrun_session_options_disable_pass(attnrun_session_options* options,
                                                     const char* name) {
  return SetText(options, name, [](attnrun::SessionOptions& settings, absl::string_view text) {
    settings.disabled_passes.emplace_back(text);
    return absl::OkStatus();
  });
}

attnrun_status* attnrun_session_options_add_last_positions_of(attnrun_session_options* options,
                                                              const char* output) {
  return SetText(options, output, [](attnrun::SessionOptions& settings, absl::string_view text) {
    settings.last_positions_of.emplace_back(text);
    return absl::OkStatus();
  });
}

attnrun_status* attnrun_session_load(const char* path, const attnrun_session_options* options,
                                     attnrun_session** session) {
  return Give(path, options, session, [&](const attnrun::SessionOptions& settings) {
    return attnrun::Session::Load(path, settings);
  });
}

attnrun_status* attnrun_session_load_bytes(const void* bytes, size_t size,
                                           const attnrun_session_options* options,
                                           attnrun_session** session) {
  return Give(bytes, options, session,
              [&](const attnrun::SessionOptions& settings) -> absl::StatusOr<attnrun::Session> {
                const absl::string_view all;
                if (size > all.max_size()) {
                  return absl::InvalidArgumentError("size is no number of bytes");
                }
                return attnrun::Session::LoadBytes({static_cast<const char*>(bytes), size},
                                                   settings);
              });
}

void attnrun_session_free(attnrun_session* session) { delete session; }

const attnrun_model_info* attnrun_session_model(const attnrun_session* session) {
  return &session->model;
}

int32_t attnrun_session_threads(const attnrun_session* session) {
  return session->session.threads();
}

// SPDX-License-Identifier: Apache-2.0
#include "state.h"

#include <utility>

#include "core/status.h"
#include "new_outputs.h"
#include "run.h"
#include "session.h"
#include "status.h"
#include "tensor.h"

namespace {

using attnrun::TensorMap;
using attnrun::capi::Guarded;
using attnrun::capi::IsNull;
using attnrun::capi::NewOutputs;

// Calls make(), a StatusOr<State>, and puts the result into `*out`.
template <typename Make>
attnrun_status* Give(attnrun_state** out, Make make) {
  return Guarded([&]() -> absl::Status {
    if (out == nullptr) return IsNull("state");
    ATTNRUN_ASSIGN_OR_RETURN(attnrun::State state, make());
    *out = new attnrun_state{std::move(state)};
    return absl::OkStatus();
  });
}

}  // namespace

attnrun_status* attnrun_session_new_state(const attnrun_session* session, int64_t batch,
                                          int64_t capacity, attnrun_state** state) {
  return Give(state, [&]() -> absl::StatusOr<attnrun::State> {
    if (session == nullptr) return IsNull("session");
    attnrun::StateOptions options;
    options.batch = batch;
    options.capacity = capacity;
    return session->session.NewState(options);
  });
}

void attnrun_state_free(attnrun_state* state) { delete state; }

size_t attnrun_session_state_count(const attnrun_session* session) {
  return session->session.state_values().size();
}

const char* attnrun_session_state_name(const attnrun_session* session, size_t index) {
  const auto& values = session->session.state_values();
  return index < values.size() ? values[index].input.c_str() : nullptr;
}

attnrun_status* attnrun_session_step(const attnrun_session* session,
                                     const attnrun_run_options* options, attnrun_state* state,
                                     const char* const* input_names,
                                     const attnrun_tensor* const* inputs, size_t input_count,
                                     const char* const* output_names, attnrun_tensor** outputs,
                                     size_t output_count) {
  return Guarded([&]() -> absl::Status {
    if (session == nullptr) return IsNull("session");
    if (state == nullptr) return IsNull("state");
    const attnrun::RunOptions settings = attnrun::capi::SettingsOf(options);
    ATTNRUN_ASSIGN_OR_RETURN(const TensorMap given,
                             attnrun::capi::InputsByName(input_names, inputs, input_count));
    ATTNRUN_ASSIGN_OR_RETURN(
        NewOutputs made,
        NewOutputs::Make(session->session, /*step=*/true, output_names, outputs, output_count));
    ATTNRUN_ASSIGN_OR_RETURN(TensorMap results,
                             session->session.Run(given, state->state, settings));
    made.Fill(results, outputs);
    return absl::OkStatus();
  });
}

int64_t attnrun_state_batch(const attnrun_state* state) { return state->state.batch(); }

int64_t attnrun_state_length(const attnrun_state* state) { return state->state.length(); }

size_t attnrun_state_byte_size(const attnrun_state* state) { return state->state.byte_size(); }

attnrun_status* attnrun_state_rewind(attnrun_state* state, int64_t length) {
  return Guarded([&]() -> absl::Status {
    return state == nullptr ? IsNull("state") : state->state.Rewind(length);
  });
}

attnrun_status* attnrun_state_clone(const attnrun_state* state, attnrun_state** clone) {
  return Give(clone, [&]() -> absl::StatusOr<attnrun::State> {
    if (state == nullptr) return IsNull("state");
    return state->state.Clone();
  });
}

attnrun_status* attnrun_state_select(const attnrun_state* state, const int64_t* rows, size_t count,
                                     attnrun_state** selected) {
  return Give(selected, [&]() -> absl::StatusOr<attnrun::State> {
    if (state == nullptr) return IsNull("state");
    if (rows == nullptr && count > 0) return IsNull("rows");
    return state->state.Select({rows, count});
  });
}

attnrun_status* attnrun_state_value(const attnrun_state* state, const char* input,
                                    attnrun_tensor** value) {
  return Guarded([&]() -> absl::Status {
    if (state == nullptr) return IsNull("state");
    if (input == nullptr) return IsNull("input");
    if (value == nullptr) return IsNull("value");
    // A tensor with room for more positions is not dense, and C has no strides of results.
    ATTNRUN_ASSIGN_OR_RETURN(attnrun::Tensor dense, state->state.value(input).Dense());
    *value = new attnrun_tensor{std::move(dense)};
    return absl::OkStatus();
  });
}

attnrun_status* attnrun_state_set(attnrun_state* state, const char* input,
                                  const attnrun_tensor* value) {
  return Guarded([&]() -> absl::Status {
    if (state == nullptr) return IsNull("state");
    if (input == nullptr) return IsNull("input");
    if (value == nullptr) return IsNull("value");
    return state->state.Set(input, value->tensor);
  });
}

attnrun_status* attnrun_session_state_bytes(const attnrun_session* session, int64_t batch,
                                            int64_t capacity, size_t* bytes) {
  return Guarded([&]() -> absl::Status {
    if (session == nullptr) return IsNull("session");
    if (bytes == nullptr) return IsNull("bytes");
    attnrun::StateOptions options;
    options.batch = batch;
    options.capacity = capacity;
    ATTNRUN_ASSIGN_OR_RETURN(*bytes, session->session.StateBytes(options));
    return absl::OkStatus();
  });
}

attnrun_status* attnrun_state_save(const attnrun_state* state, const char* path) {
  return Guarded([&]() -> absl::Status {
    if (state == nullptr) return IsNull("state");
    return path == nullptr ? IsNull("path") : state->state.Save(path);
  });
}

attnrun_status* attnrun_session_load_state(const attnrun_session* session, const char* path,
                                           int64_t capacity, attnrun_state** state) {
  return Give(state, [&]() -> absl::StatusOr<attnrun::State> {
    if (session == nullptr) return IsNull("session");
    if (path == nullptr) return IsNull("path");
    return session->session.LoadState(path, capacity);
  });
}

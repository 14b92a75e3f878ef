// SPDX-License-Identifier: Apache-2.0
#include "attnrun/state.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "core/quote.h"
#include "core/status.h"
#include "run.h"
#include "session.h"
#include "status.h"
#include "tensor.h"

struct attnrun_state {
  attnrun::State state;
};

namespace {

using attnrun::TensorMap;
using attnrun::capi::Guarded;
using attnrun::capi::IsNull;

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

// A result of a step and the handle that it is put into. Made before the step, so that nothing can
// fail after it.
struct Place {
  std::string name;
  std::unique_ptr<attnrun_tensor> tensor;
};

// kInvalidArgument unless `name` is an output that the state does not carry.
absl::Status CheckIsResult(const attnrun::Session& session, const std::string& name) {
  const auto is_name = [&](const attnrun::ValueInfo& info) { return info.name == name; };
  const auto is_carried = [&](const attnrun::StateValue& value) { return value.output == name; };
  if (absl::c_any_of(session.outputs(), is_name) &&
      absl::c_none_of(session.state_values(), is_carried)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("there is no output ", attnrun::Quoted(name), " of a step"));
}

absl::StatusOr<std::vector<Place>> PlacesFor(const attnrun::Session& session,
                                             const char* const* names,
                                             attnrun_tensor* const* outputs, size_t count) {
  ATTNRUN_RETURN_IF_ERROR(attnrun::capi::OutputsByName(names, outputs, count).status());
  std::vector<Place> places;
  for (size_t i = 0; i < count; ++i) {
    ATTNRUN_RETURN_IF_ERROR(CheckIsResult(session, names[i]));
    if (outputs[i] != nullptr) {
      return absl::InvalidArgumentError(absl::StrCat(
          "a step makes new tensors, but one is given for output ", attnrun::Quoted(names[i])));
    }
    places.push_back({names[i], std::make_unique<attnrun_tensor>()});
  }
  return places;
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
    ATTNRUN_ASSIGN_OR_RETURN(std::vector<Place> places,
                             PlacesFor(session->session, output_names, outputs, output_count));
    ATTNRUN_ASSIGN_OR_RETURN(TensorMap results,
                             session->session.Run(given, state->state, settings));
    for (size_t i = 0; i < places.size(); ++i) {
      places[i].tensor->tensor = std::move(results.find(places[i].name)->second);
      outputs[i] = places[i].tensor.release();
    }
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

// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <vector>

#include "core/status.h"
#include "new_outputs.h"
#include "run.h"
#include "session.h"
#include "state.h"
#include "status.h"

using attnrun::Request;
using attnrun::TensorMap;
using attnrun::capi::Guarded;
using attnrun::capi::IsNull;
using attnrun::capi::NewOutputs;

attnrun_status* attnrun_session_run_together(const attnrun_session* session,
                                             const attnrun_run_options* options,
                                             size_t request_count, attnrun_state* const* states,
                                             const char* const* input_names,
                                             const attnrun_tensor* const* inputs,
                                             size_t input_count, const char* const* output_names,
                                             attnrun_tensor** outputs, size_t output_count) {
  return Guarded([&]() -> absl::Status {
    if (session == nullptr) return IsNull("session");
    if (input_count > 0 && inputs == nullptr) return IsNull("inputs");
    if (output_count > 0 && outputs == nullptr) return IsNull("outputs");
    const attnrun::RunOptions settings = attnrun::capi::SettingsOf(options);
    std::vector<Request> requests(request_count);
    std::vector<NewOutputs> made(request_count);
    for (size_t r = 0; r < request_count; ++r) {
      if (states != nullptr && states[r] != nullptr) requests[r].state = &states[r]->state;
      ATTNRUN_ASSIGN_OR_RETURN(
          requests[r].inputs,
          attnrun::capi::InputsByName(input_names, inputs + r * input_count, input_count));
      std::erase_if(requests[r].inputs, [](const auto& input) { return !input.second.defined(); });
      ATTNRUN_ASSIGN_OR_RETURN(
          made[r], NewOutputs::Make(session->session, requests[r].state != nullptr, output_names,
                                    outputs + r * output_count, output_count));
    }
    ATTNRUN_ASSIGN_OR_RETURN(std::vector<TensorMap> results,
                             session->session.RunTogether(requests, settings));
    for (size_t r = 0; r < request_count; ++r) made[r].Fill(results[r], outputs + r * output_count);
    return absl::OkStatus();
  });
}

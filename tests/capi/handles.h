// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_CAPI_HANDLES_H_
#define ATTNRUN_TESTS_CAPI_HANDLES_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "attnrun/c.h"
#include "attnrun/c_generator.h"

namespace attnrun::testing {

// The objects of the C API, freed in time.
struct Free {
  void operator()(attnrun_tensor* tensor) const { attnrun_tensor_free(tensor); }
  void operator()(attnrun_session* session) const { attnrun_session_free(session); }
  void operator()(attnrun_session_options* options) const { attnrun_session_options_free(options); }
  void operator()(attnrun_run_options* options) const { attnrun_run_options_free(options); }
  void operator()(attnrun_thread_pool* pool) const { attnrun_thread_pool_free(pool); }
  void operator()(attnrun_state* state) const { attnrun_state_free(state); }
  void operator()(attnrun_model_info* info) const { attnrun_model_info_free(info); }
  void operator()(attnrun_generator_options* options) const {
    attnrun_generator_options_free(options);
  }
  void operator()(attnrun_generator* generator) const { attnrun_generator_free(generator); }
  void operator()(attnrun_generation_request* request) const {
    attnrun_generation_request_free(request);
  }
  void operator()(attnrun_generate_options* options) const {
    attnrun_generate_options_free(options);
  }
  void operator()(attnrun_generation_result* result) const {
    attnrun_generation_result_free(result);
  }
};
template <typename T>
using Handle = std::unique_ptr<T, Free>;

// "" if all is well, otherwise the code and the message: "3: path is NULL". Frees the status.
inline std::string Told(attnrun_status* status) {
  std::string text;
  if (status != nullptr) {
    text = absl::StrCat(attnrun_status_code(status), ": ", attnrun_status_message(status));
  }
  attnrun_status_free(status);
  return text;
}

// The object that make(&object) makes; null if it fails.
template <typename T, typename Make>
Handle<T> Made(Make make) {
  T* made = nullptr;
  attnrun_status_free(make(&made));
  return Handle<T>(made);
}

inline Handle<attnrun_tensor> Floats(const std::vector<int64_t>& shape,
                                     const std::vector<float>& elements) {
  return Made<attnrun_tensor>([&](attnrun_tensor** tensor) {
    return attnrun_tensor_borrow(ATTNRUN_TYPE_FLOAT, shape.size(), shape.data(), nullptr,
                                 elements.data(), elements.size() * sizeof(float), tensor);
  });
}

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_CAPI_HANDLES_H_

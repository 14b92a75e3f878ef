// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_SESSION_OCCUPANT_H_
#define ATTNRUN_TESTS_SESSION_OCCUPANT_H_

#include <atomic>
#include <future>
#include <thread>
#include <utility>

#include "attnrun/session.h"

namespace attnrun::testing {

// A run of a session that has entered and stays in it until Leave().
class Occupant {
 public:
  Occupant(const Session& session, TensorMap inputs)
      : thread_([this, &session, inputs = std::move(inputs)] {
          RunOptions options;
          options.observer = [this](absl::string_view, const Tensor&) {
            if (!inside_.exchange(true)) entered_.set_value();
            left_.wait();
          };
          status_ = session.Run(inputs, options).status();
        }) {
    entered_.get_future().wait();
  }
  absl::Status Leave() {
    leave_.set_value();
    thread_.join();
    return status_;
  }

 private:
  std::atomic<bool> inside_ = false;
  std::promise<void> entered_;
  std::promise<void> leave_;
  const std::shared_future<void> left_ = leave_.get_future().share();
  absl::Status status_;
  std::thread thread_;
};

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_SESSION_OCCUPANT_H_

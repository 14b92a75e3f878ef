#include "attnrun/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <string>
#include <thread>

#include "absl/time/clock.h"
#include "loader/model_maker.h"

namespace attnrun::testing {
namespace {

using ::testing::HasSubstr;

// One run at a time: it takes all CPUs.
absl::StatusOr<Session> Load(const std::string& bytes) { return Session::LoadBytes(bytes); }

TensorMap Inputs() {
  TensorMap inputs;
  inputs["x"] = *Tensor::Of<float>({2, 2}, {1, -2, 3, -4});
  return inputs;
}

// Holds the only place of a session until told to leave.
class Occupant {
 public:
  explicit Occupant(const Session& session)
      : thread_([this, &session] {
          RunOptions options;
          options.observer = [this](absl::string_view, const Tensor&) {
            if (!inside_.exchange(true)) entered_.set_value();
            left_.wait();
          };
          status_ = session.Run(Inputs(), options).status();
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

TEST(SessionTest, AWaitingRunHonoursDeadlineAndCancel) {
  const std::string bytes = SmallModel().SerializeAsString();
  const auto session = Load(bytes);
  ASSERT_TRUE(session.ok()) << session.status();
  Occupant occupant(*session);

  RunOptions late;
  late.deadline = absl::Now() + absl::Milliseconds(20);
  const absl::Status passed = session->Run(Inputs(), late).status();
  EXPECT_EQ(passed.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(passed.message(), HasSubstr("while it waited for others"));

  std::atomic<bool> cancel = false;
  RunOptions cancelled;
  cancelled.cancel = &cancel;
  auto waiting =
      std::async(std::launch::async, [&] { return session->Run(Inputs(), cancelled).status(); });
  cancel = true;
  EXPECT_EQ(waiting.get().code(), absl::StatusCode::kCancelled);

  EXPECT_EQ(occupant.Leave(), absl::OkStatus());
  EXPECT_EQ(session->Run(Inputs(), {}).status(), absl::OkStatus());
}

}  // namespace
}  // namespace attnrun::testing

// SPDX-License-Identifier: Apache-2.0
// Limits, thread pools, log and metrics of the C API.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "capi/handles.h"
#include "loader/model_maker.h"

namespace attnrun::testing {
namespace {

using ::testing::HasSubstr;

class CSharingTest : public ::testing::Test {
 protected:
  // Loads y = MatMul(Relu(x), w) from a file; what went wrong is put into told_.
  Handle<attnrun_session> Load() {
    attnrun_session* session = nullptr;
    onnx::ModelProto model = SmallModel();
    model.mutable_graph()->mutable_node(1)->set_op_type("MatMul");
    const std::string path = folder_.Write("m.onnx", model.SerializeAsString());
    told_ = Told(attnrun_session_load(path.c_str(), options_.get(), &session));
    return Handle<attnrun_session>(session);
  }

  const TemporaryFolder folder_;
  Handle<attnrun_session_options> options_ =
      Made<attnrun_session_options>(attnrun_session_options_new);
  std::string told_;
};

TEST_F(CSharingTest, LimitsHaveNames) {
  EXPECT_EQ(Told(attnrun_session_options_set_limit(options_.get(), "nodes", 1)), "");
  EXPECT_EQ(Load(), nullptr);
  EXPECT_EQ(told_.substr(0, 2), "8:");
  for (const char* const name : {"file_bytes", "nodes", "function_nodes", "folded_bytes",
                                 "tensor_bytes", "run_bytes", "body_runs", "waiting_runs"}) {
    EXPECT_EQ(Told(attnrun_session_options_set_limit(options_.get(), name, 1000000)), "") << name;
  }
  EXPECT_NE(Load(), nullptr) << told_;
  EXPECT_THAT(Told(attnrun_session_options_set_limit(options_.get(), "node", 1)),
              HasSubstr("there is no limit 'node'; the limits are file_bytes, nodes, "));
}

TEST_F(CSharingTest, SessionsShareAPoolThatOutlivesItsHandle) {
  auto pool = Made<attnrun_thread_pool>(
      [](attnrun_thread_pool** made) { return attnrun_thread_pool_new(1, made); });
  ASSERT_NE(pool, nullptr);
  EXPECT_EQ(attnrun_thread_pool_threads(pool.get()), 1);
  attnrun_session_options_set_thread_pool(options_.get(), pool.get());
  pool.reset();
  const Handle<attnrun_session> first = Load();
  const Handle<attnrun_session> second = Load();
  ASSERT_NE(second, nullptr) << told_;
  EXPECT_EQ(attnrun_session_threads(second.get()), 1);
  attnrun_thread_pool* none = nullptr;
  EXPECT_EQ(Told(attnrun_thread_pool_new(-1, &none)).substr(0, 2), "3:");
}

TEST_F(CSharingTest, MetricsCountRuns) {
  const Handle<attnrun_session> session = Load();
  ASSERT_NE(session, nullptr) << told_;
  EXPECT_EQ(attnrun_session_metric(session.get(), "failed"), 0);
  EXPECT_NE(
      Told(attnrun_session_run(session.get(), nullptr, nullptr, nullptr, 0, nullptr, nullptr, 0)),
      "");
  EXPECT_EQ(attnrun_session_metric(session.get(), "failed"), 1);
  EXPECT_EQ(attnrun_session_metric(session.get(), "succeeded"), 0);
  EXPECT_EQ(attnrun_session_metric(session.get(), "latency_microseconds"), 0);
  EXPECT_GT(attnrun_session_metric(session.get(), "constant_bytes"), 0);
  EXPECT_EQ(attnrun_session_metric(session.get(), "runs"), -1);
}

TEST_F(CSharingTest, WarningsGoToTheLog) {
  std::string log;
  const attnrun_log_function append = [](void* context, int level, const char* message) {
    *static_cast<std::string*>(context) += absl::StrCat(level, ": ", message, "\n");
  };
  EXPECT_EQ(Told(attnrun_session_options_set_log(options_.get(), append, &log)), "");
  // A file stands where the folder of the cache should be.
  const std::string taken = folder_.Write("taken", "");
  EXPECT_EQ(Told(attnrun_session_options_set_weight_cache(options_.get(), taken.c_str())), "");
  EXPECT_NE(Load(), nullptr) << told_;
  EXPECT_THAT(log, HasSubstr("1: "));
}

}  // namespace
}  // namespace attnrun::testing

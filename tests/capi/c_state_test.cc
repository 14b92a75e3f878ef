// SPDX-License-Identifier: Apache-2.0
// States of the C API: steps of a model that sums all that it was given.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "capi/handles.h"
#include "loader/model_maker.h"

namespace attnrun::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

void Declare(onnx::ValueInfoProto* value, const std::string& name, const std::string& length) {
  SetType(value, name, onnx::TensorProto::FLOAT, {1, 1});
  auto* shape = value->mutable_type()->mutable_tensor_type()->mutable_shape();
  shape->mutable_dim(0)->set_dim_param("batch");
  if (!length.empty()) shape->mutable_dim(1)->set_dim_param(length);
}

// present = Concat(past, x) along axis 1; sum [batch, 1] is that of present.
std::string SumModel() {
  onnx::ModelProto model = EmptyModel();
  onnx::GraphProto* graph = model.mutable_graph();
  Declare(graph->add_input(), "x", "new");
  Declare(graph->add_input(), "past.0.key", "past");
  Declare(graph->add_output(), "sum", "");
  Declare(graph->add_output(), "present.0.key", "total");
  auto* axes = graph->add_initializer();
  *axes = MakeTensor("axes", onnx::TensorProto::INT64, {1});
  axes->add_int64_data(1);
  AddIntAttribute(AddNode(graph, "Concat", {"past.0.key", "x"}, {"present.0.key"}), "axis", 1);
  AddNode(graph, "ReduceSum", {"present.0.key", "axes"}, {"sum"});
  return model.SerializeAsString();
}

class CStateTest : public ::testing::Test {
 protected:
  CStateTest() {
    session_ = Made<attnrun_session>([&](attnrun_session** made) {
      return attnrun_session_load_bytes(bytes_.data(), bytes_.size(), nullptr, made);
    });
    state_ = Made<attnrun_state>([&](attnrun_state** made) {
      return attnrun_session_new_state(session_.get(), 1, 0, made);
    });
  }

  // The output "sum" after a step on `x`, by rows; what went wrong is put into told_.
  std::vector<float> Step(attnrun_state* state, const std::vector<float>& x, int64_t rows = 1) {
    const Handle<attnrun_tensor> tensor = Floats({rows, static_cast<int64_t>(x.size()) / rows}, x);
    const attnrun_tensor* const input = tensor.get();
    const char* const input_name = "x";
    attnrun_tensor* sum = nullptr;
    told_ = Told(attnrun_session_step(session_.get(), nullptr, state, &input_name, &input, 1,
                                      &output_name_, &sum, 1));
    const Handle<attnrun_tensor> owner(sum);
    if (sum == nullptr) return {};
    const auto* const data = static_cast<const float*>(attnrun_tensor_data(sum));
    return {data, data + attnrun_tensor_element_count(sum)};
  }

  const std::string bytes_ = SumModel();
  const char* output_name_ = "sum";
  Handle<attnrun_session> session_;
  Handle<attnrun_state> state_;
  std::string told_;
};

TEST_F(CStateTest, GrowsAndIsRewound) {
  ASSERT_NE(state_, nullptr);
  ASSERT_EQ(attnrun_session_state_count(session_.get()), 1U);
  EXPECT_STREQ(attnrun_session_state_name(session_.get(), 0), "past.0.key");
  EXPECT_EQ(attnrun_session_state_name(session_.get(), 1), nullptr);
  EXPECT_THAT(Step(state_.get(), {1, 2}), ElementsAre(3)) << told_;
  EXPECT_THAT(Step(state_.get(), {4}), ElementsAre(7)) << told_;
  EXPECT_EQ(attnrun_state_length(state_.get()), 3);
  EXPECT_EQ(attnrun_state_batch(state_.get()), 1);
  EXPECT_GE(attnrun_state_byte_size(state_.get()), 12U);
  EXPECT_EQ(Told(attnrun_state_rewind(state_.get(), 1)), "");
  EXPECT_THAT(Step(state_.get(), {5}), ElementsAre(6)) << told_;
  EXPECT_NE(Told(attnrun_state_rewind(state_.get(), 100)), "");
}

TEST_F(CStateTest, IsClonedSelectedAndSet) {
  Step(state_.get(), {1, 2});
  const auto clone = Made<attnrun_state>(
      [&](attnrun_state** made) { return attnrun_state_clone(state_.get(), made); });
  const int64_t rows[] = {0, 0};
  const auto pair = Made<attnrun_state>(
      [&](attnrun_state** made) { return attnrun_state_select(state_.get(), rows, 2, made); });
  EXPECT_THAT(Step(state_.get(), {4}), ElementsAre(7)) << told_;
  EXPECT_THAT(Step(clone.get(), {5}), ElementsAre(8)) << told_;
  EXPECT_THAT(Step(pair.get(), {6, 7}, 2), ElementsAre(9, 10)) << told_;

  const auto value = Made<attnrun_tensor>(
      [&](attnrun_tensor** made) { return attnrun_state_value(clone.get(), "past.0.key", made); });
  EXPECT_EQ(attnrun_tensor_element_count(value.get()), 3U);
  const std::vector<float> tens = {10, 20};
  EXPECT_EQ(Told(attnrun_state_set(clone.get(), "past.0.key", Floats({1, 2}, tens).get())), "");
  EXPECT_THAT(Step(clone.get(), {1}), ElementsAre(31)) << told_;
  EXPECT_NE(Told(attnrun_state_set(clone.get(), "x", value.get())), "");
}

// Rows with room for more positions lie apart in the state.
TEST_F(CStateTest, ValuesAreDense) {
  const auto state = Made<attnrun_state>(
      [&](attnrun_state** made) { return attnrun_session_new_state(session_.get(), 2, 5, made); });
  EXPECT_THAT(Step(state.get(), {1, 2, 3, 4}, 2), ElementsAre(3, 7)) << told_;
  const auto value = Made<attnrun_tensor>(
      [&](attnrun_tensor** made) { return attnrun_state_value(state.get(), "past.0.key", made); });
  const auto* const data = static_cast<const float*>(attnrun_tensor_data(value.get()));
  EXPECT_THAT(std::vector<float>(data, data + 4), ElementsAre(1, 2, 3, 4));
}

TEST_F(CStateTest, IsSavedAndLoaded) {
  Step(state_.get(), {1, 2});
  const std::string path = ::testing::TempDir() + "/c_state_test.state";
  ASSERT_EQ(Told(attnrun_state_save(state_.get(), path.c_str())), "");
  const auto loaded = Made<attnrun_state>([&](attnrun_state** made) {
    return attnrun_session_load_state(session_.get(), path.c_str(), 8, made);
  });
  EXPECT_THAT(Step(loaded.get(), {4}), ElementsAre(7)) << told_;
  size_t bytes = 0;
  EXPECT_EQ(Told(attnrun_session_state_bytes(session_.get(), 1, 8, &bytes)), "");
  EXPECT_EQ(attnrun_state_byte_size(loaded.get()), bytes);
  EXPECT_NE(Told(attnrun_session_state_bytes(session_.get(), 1, -1, &bytes)), "");
  attnrun_state* none = nullptr;
  EXPECT_NE(Told(attnrun_session_load_state(session_.get(), "/nowhere", 8, &none)), "");
  EXPECT_EQ(none, nullptr);
}

TEST_F(CStateTest, CachesMayBeOfFewerBits) {
  const auto options = Made<attnrun_session_options>(attnrun_session_options_new);
  const auto load = [&](attnrun_session** made) {
    return attnrun_session_load_bytes(bytes_.data(), bytes_.size(), options.get(), made);
  };
  attnrun_session_options_set_cache_type(options.get(), ATTNRUN_TYPE_BFLOAT16);
  session_ = Made<attnrun_session>(load);
  state_ = Made<attnrun_state>(
      [&](attnrun_state** made) { return attnrun_session_new_state(session_.get(), 1, 0, made); });
  // Numbers of 8 bits, ties to even.
  EXPECT_THAT(Step(state_.get(), {257, 259}), ElementsAre(256 + 260)) << told_;
  for (const attnrun_type none : {attnrun_type{ATTNRUN_TYPE_UINT8}, -7, 1000}) {
    attnrun_session_options_set_cache_type(options.get(), none);
    attnrun_session* refused = nullptr;
    EXPECT_THAT(Told(load(&refused)), HasSubstr("cache_type: expected float, float16")) << none;
  }
}

TEST_F(CStateTest, RefusesWhatAStepCannotDo) {
  output_name_ = "present.0.key";
  EXPECT_THAT(Step(state_.get(), {1}), ElementsAre());
  EXPECT_THAT(told_, HasSubstr("no output 'present.0.key' of a step"));
  EXPECT_EQ(attnrun_state_length(state_.get()), 0);
  output_name_ = "sum";
  EXPECT_THAT(Step(nullptr, {1}), ElementsAre());
  EXPECT_EQ(told_, "3: state is NULL");
}

// Three requests of different lengths: steps of two states and, where there is none, a run.
class CTogetherTest : public CStateTest {
 protected:
  CTogetherTest() {
    second_ = Made<attnrun_state>([&](attnrun_state** made) {
      return attnrun_session_new_state(session_.get(), 1, 0, made);
    });
  }

  ~CTogetherTest() override {
    for (attnrun_tensor* sum : sums_) attnrun_tensor_free(sum);
  }

  std::string Run(const std::vector<attnrun_state*>& states) {
    const char* const names[] = {"x", "past.0.key"};
    const attnrun_tensor* const inputs[] = {short_.get(), nullptr,      long_.get(),
                                            nullptr,      short_.get(), past_.get()};
    return Told(attnrun_session_run_together(session_.get(), nullptr, 3, states.data(), names,
                                             inputs, 2, &output_name_, sums_, 1));
  }

  float Sum(size_t r) const { return *static_cast<const float*>(attnrun_tensor_data(sums_[r])); }

  const std::vector<float> one_ = {1};
  const std::vector<float> three_ = {1, 2, 4};
  const std::vector<float> four_ = {1, 2, 4, 8};
  const Handle<attnrun_tensor> short_ = Floats({1, 1}, one_);
  const Handle<attnrun_tensor> long_ = Floats({1, 3}, three_);
  const Handle<attnrun_tensor> past_ = Floats({1, 4}, four_);
  Handle<attnrun_state> second_;
  attnrun_tensor* sums_[3] = {};
};

TEST_F(CTogetherTest, GivesEachRequestItsOutputs) {
  Step(state_.get(), {100});
  ASSERT_EQ(Run({state_.get(), second_.get(), nullptr}), "");
  EXPECT_EQ(Sum(0), 101);
  EXPECT_EQ(Sum(1), 7);
  EXPECT_EQ(Sum(2), 16);
  EXPECT_EQ(attnrun_state_length(state_.get()), 2);
  EXPECT_EQ(attnrun_state_length(second_.get()), 3);
}

TEST_F(CTogetherTest, NoRequestsAreServedAtOnce) {
  EXPECT_EQ(Told(attnrun_session_run_together(session_.get(), nullptr, 0, nullptr, nullptr, nullptr,
                                              0, nullptr, nullptr, 0)),
            "");
}

TEST_F(CTogetherTest, ARequestThatFailsChangesNoState) {
  EXPECT_THAT(Run({state_.get(), state_.get(), nullptr}), HasSubstr("state"));
  EXPECT_THAT(Run({state_.get(), second_.get(), second_.get()}), HasSubstr("'past.0.key'"));
  EXPECT_EQ(attnrun_state_length(state_.get()), 0);
  EXPECT_EQ(attnrun_state_length(second_.get()), 0);
  for (const attnrun_tensor* sum : sums_) EXPECT_EQ(sum, nullptr);
  output_name_ = "present.0.key";
  EXPECT_THAT(Run({state_.get(), second_.get(), nullptr}), HasSubstr("no output 'present.0.key'"));
}

}  // namespace
}  // namespace attnrun::testing

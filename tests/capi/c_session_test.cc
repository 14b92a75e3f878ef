// SPDX-License-Identifier: Apache-2.0
// Sessions and runs of the C API, through the static library.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "attnrun/session.h"
#include "capi/handles.h"
#include "loader/model_maker.h"
#include "session/square_product.h"

namespace attnrun::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// y = Relu(x) + w, w is about 0.747; x is declared [2,2], or [rows,2] if `rows` is a name.
std::string Bytes(const std::string& rows = "") {
  onnx::ModelProto model = SmallModel();
  if (!rows.empty()) {
    auto* shape = model.mutable_graph()
                      ->mutable_input(0)
                      ->mutable_type()
                      ->mutable_tensor_type()
                      ->mutable_shape();
    shape->mutable_dim(0)->set_dim_param(rows);
    model.mutable_graph()->mutable_output(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  }
  auto* note = model.add_metadata_props();
  note->set_key("labels");
  note->set_value("cat,dog");
  return model.SerializeAsString();
}

Handle<attnrun_session> Load(const std::string& bytes,
                             const attnrun_session_options* options = nullptr) {
  return Made<attnrun_session>([&](attnrun_session** session) {
    return attnrun_session_load_bytes(bytes.data(), bytes.size(), options, session);
  });
}

// Runs the session on `x` for "y", which is put into `*y`, and returns what went wrong.
std::string RunOn(const attnrun_session* session, const attnrun_tensor* x,
                  Handle<attnrun_tensor>& y, const attnrun_run_options* options = nullptr) {
  const char* const inputs = "x";
  const char* const outputs = "y";
  attnrun_tensor* result = y.release();
  const std::string told =
      Told(attnrun_session_run(session, options, &inputs, &x, 1, &outputs, &result, 1));
  y.reset(result);
  return told;
}

std::vector<float> Elements(const attnrun_tensor* tensor) {
  const auto* const data = static_cast<const float*>(attnrun_tensor_data(tensor));
  return {data, data + attnrun_tensor_element_count(tensor)};
}

TEST(CSessionTest, DescribesTheModel) {
  const std::string bytes = Bytes("rows");
  const Handle<attnrun_session> session = Load(bytes);
  ASSERT_NE(session, nullptr);
  const attnrun_model_info* const model = attnrun_session_model(session.get());
  ASSERT_EQ(attnrun_model_info_input_count(model), 1U);
  const attnrun_value_info* const x = attnrun_model_info_input(model, 0);
  EXPECT_STREQ(attnrun_value_info_name(x), "x");
  EXPECT_EQ(attnrun_value_info_type(x), ATTNRUN_TYPE_FLOAT);
  EXPECT_EQ(attnrun_value_info_kind(x), ATTNRUN_KIND_TENSOR);
  EXPECT_EQ(attnrun_value_info_has_default(x), 0);
  EXPECT_EQ(attnrun_value_info_rank(x), 2);
  EXPECT_EQ(attnrun_value_info_dim(x, 0), -1);
  EXPECT_STREQ(attnrun_value_info_dim_name(x, 0), "rows");
  EXPECT_EQ(attnrun_value_info_dim(x, 1), 2);
  EXPECT_STREQ(attnrun_value_info_dim_name(x, 1), "");
  EXPECT_EQ(attnrun_value_info_dim(x, 2), -1);
  EXPECT_EQ(attnrun_value_info_rank(attnrun_model_info_output(model, 0)), -1);
  EXPECT_EQ(attnrun_model_info_output(model, 1), nullptr);
  ASSERT_EQ(attnrun_model_info_metadata_count(model), 1U);
  EXPECT_STREQ(attnrun_model_info_metadata_key(model, 0), "labels");
  EXPECT_STREQ(attnrun_model_info_metadata_value(model, 0), "cat,dog");
  EXPECT_EQ(attnrun_model_info_metadata_key(model, 1), nullptr);
}

TEST(CSessionTest, ReadsFiles) {
  const TemporaryFolder folder;
  const std::string path = folder.Write("m.onnx", Bytes());
  const auto info = Made<attnrun_model_info>(
      [&](attnrun_model_info** made) { return attnrun_model_info_load(path.c_str(), made); });
  ASSERT_NE(info, nullptr);
  EXPECT_EQ(attnrun_model_info_metadata_count(info.get()), 1U);

  const auto options = Made<attnrun_session_options>(attnrun_session_options_new);
  const std::string cache = folder.path("cache");
  EXPECT_EQ(Told(attnrun_session_options_set_weight_cache(options.get(), cache.c_str())), "");
  attnrun_session_options_set_threads(options.get(), 1);
  attnrun_session_options_set_map_files(options.get(), 0);
  attnrun_session_options_set_verify_weight_cache(options.get(), 1);
  attnrun_session* session = nullptr;
  EXPECT_EQ(Told(attnrun_session_load(path.c_str(), options.get(), &session)), "");
  const Handle<attnrun_session> owner(session);
  EXPECT_EQ(attnrun_session_threads(session), 1);
  EXPECT_EQ(Told(attnrun_session_load(folder.path("none").c_str(), nullptr, &session)).substr(0, 2),
            "5:");
  EXPECT_EQ(session, owner.get());
}

TEST(CSessionTest, RunsIntoNewAndGivenTensors) {
  const std::string bytes = Bytes();
  const Handle<attnrun_session> session = Load(bytes);
  // The columns of x lie one after the other.
  const std::vector<float> columns = {1, 3, -2, -4};
  const std::vector<int64_t> shape = {2, 2};
  const std::vector<int64_t> strides = {1, 2};
  const auto x = Made<attnrun_tensor>([&](attnrun_tensor** made) {
    return attnrun_tensor_borrow(ATTNRUN_TYPE_FLOAT, 2, shape.data(), strides.data(),
                                 columns.data(), 16, made);
  });
  Handle<attnrun_tensor> y;
  ASSERT_EQ(RunOn(session.get(), x.get(), y), "");
  const std::vector<float> expected = Elements(y.get());
  EXPECT_GT(expected[0], 1);
  EXPECT_EQ(expected[1], expected[3]);

  std::vector<float> memory(7, 7);
  const std::vector<int64_t> apart = {4, 1};
  y = Made<attnrun_tensor>([&](attnrun_tensor** made) {
    return attnrun_tensor_borrow_mutable(ATTNRUN_TYPE_FLOAT, 2, shape.data(), apart.data(),
                                         memory.data(), 28, made);
  });
  const attnrun_tensor* const given = y.get();
  ASSERT_EQ(RunOn(session.get(), x.get(), y), "");
  EXPECT_EQ(y.get(), given);
  EXPECT_THAT(memory, ElementsAre(expected[0], expected[1], 7, 7, expected[2], expected[3], 7));
}

// On a processor with AMX, other sums have other bits.
TEST(CSessionTest, WeightsMayBeLaidOutForFewRows) {
  constexpr int64_t kRows = 128;
  const std::string bytes = SquareProduct(kRows);
  std::vector<float> elements(kRows * kRows);
  for (size_t i = 0; i < elements.size(); ++i) elements[i] = 1 / static_cast<float>(i % 97 + 1);
  TensorMap inputs;
  inputs["x"] = *Tensor::Of<float>({kRows, kRows}, elements);
  const std::vector<int64_t> shape = {kRows, kRows};
  const auto x = Made<attnrun_tensor>([&](attnrun_tensor** made) {
    return attnrun_tensor_borrow(ATTNRUN_TYPE_FLOAT, 2, shape.data(), nullptr, elements.data(),
                                 elements.size() * sizeof(float), made);
  });
  for (const bool few : {false, true}) {
    SessionOptions same;
    same.few_rows = few;
    const Tensor expected = Session::LoadBytes(bytes, same)->Run(inputs)->at("y");
    const auto options = Made<attnrun_session_options>(attnrun_session_options_new);
    attnrun_session_options_set_few_rows(options.get(), few ? 1 : 0);
    const Handle<attnrun_session> session = Load(bytes, options.get());
    Handle<attnrun_tensor> y;
    ASSERT_EQ(RunOn(session.get(), x.get(), y), "");
    const auto* const first = expected.data<float>();
    EXPECT_EQ(Elements(y.get()), std::vector<float>(first, first + expected.num_elements()));
  }
}

TEST(CSessionTest, AnErrorGivesNoTensor) {
  const std::string bytes = Bytes();
  const Handle<attnrun_session> session = Load(bytes);
  Handle<attnrun_tensor> y;
  EXPECT_THAT(RunOn(session.get(), nullptr, y), HasSubstr("input 'x' (float[2,2]) is missing"));
  EXPECT_THAT(RunOn(session.get(), Floats({1}, {1}).get(), y), HasSubstr("but found float[1]"));
  EXPECT_EQ(RunOn(nullptr, nullptr, y), "3: session is NULL");
  EXPECT_EQ(y, nullptr);

  const char* const names[] = {"x", "x"};
  const attnrun_tensor* const inputs[] = {nullptr, nullptr};
  EXPECT_EQ(
      Told(attnrun_session_run(session.get(), nullptr, names, inputs, 2, nullptr, nullptr, 0)),
      "3: input 'x' is given twice");
  EXPECT_EQ(
      Told(attnrun_session_run(session.get(), nullptr, nullptr, inputs, 2, nullptr, nullptr, 0)),
      "3: input_names is NULL");
}

TEST(CSessionTest, ARunNeedNotBeWaitedFor) {
  const std::string bytes = Bytes();
  Handle<attnrun_session> session = Load(bytes);
  struct End {
    int calls = 0;
    std::string told;
  } end;
  const attnrun_run_done done = [](void* context, attnrun_status* status) {
    auto* const run = static_cast<End*>(context);
    ++run->calls;
    run->told = Told(status);
  };
  attnrun_tensor* y = nullptr;
  const auto start = [&](const attnrun_tensor* x, attnrun_run_done receiver) {
    const std::string input = "x";
    const std::string output = "y";
    const char* const input_name = input.c_str();
    const char* const output_name = output.c_str();
    return Told(attnrun_session_run_async(session.get(), nullptr, &input_name, &x, 1, &output_name,
                                          &y, 1, receiver, &end));
  };
  EXPECT_THAT(start(nullptr, done), HasSubstr("input 'x' (float[2,2]) is missing"));
  const std::vector<float> elements = {1, 2, 3, 4};
  Handle<attnrun_tensor> x = Floats({2, 2}, elements);
  EXPECT_EQ(start(x.get(), nullptr), "3: done is NULL");
  EXPECT_EQ(start(x.get(), done), "");
  x.reset();
  // Waits for the run.
  session.reset();
  EXPECT_EQ(end.calls, 1);
  EXPECT_EQ(end.told, "");
  const Handle<attnrun_tensor> result(y);
  ASSERT_NE(result, nullptr);
  EXPECT_GT(Elements(result.get())[3], 4);
}

TEST(CSessionTest, OptionsOfARunAreObeyed) {
  const std::string bytes = Bytes();
  const Handle<attnrun_session> session = Load(bytes);
  const std::vector<float> elements(4, 1);
  const Handle<attnrun_tensor> x = Floats({2, 2}, elements);
  const auto options = Made<attnrun_run_options>(attnrun_run_options_new);
  Handle<attnrun_tensor> y;
  attnrun_run_options_set_timeout(options.get(), 0);
  EXPECT_EQ(RunOn(session.get(), x.get(), y, options.get()).substr(0, 2), "4:");
  attnrun_run_options_set_timeout(options.get(), -1);
  attnrun_run_options_set_memory_limit(options.get(), 15);
  EXPECT_EQ(RunOn(session.get(), x.get(), y, options.get()).substr(0, 2), "8:");
  attnrun_run_options_set_memory_limit(options.get(), 0);
  std::thread([&] { attnrun_run_options_set_cancelled(options.get(), 1); }).join();
  EXPECT_EQ(RunOn(session.get(), x.get(), y, options.get()).substr(0, 2), "1:");
  attnrun_run_options_set_cancelled(options.get(), 0);
  EXPECT_EQ(RunOn(session.get(), x.get(), y, options.get()), "");
}

TEST(CSessionTest, OptionsOfASessionAreChecked) {
  const auto options = Made<attnrun_session_options>(attnrun_session_options_new);
  ASSERT_NE(options, nullptr);
  EXPECT_EQ(Told(attnrun_session_options_set_engine(options.get(), "fast")),
            "3: there is no engine 'fast': expected optimized, unoptimized or reference");
  EXPECT_EQ(Told(attnrun_session_options_set_engine(options.get(), "reference")), "");
  EXPECT_THAT(Told(attnrun_session_options_set_precision(options.get(), "float8")),
              HasSubstr("bf16"));
  EXPECT_EQ(Told(attnrun_session_options_set_precision(options.get(), "bf16")), "");
  EXPECT_EQ(Told(attnrun_session_options_set_engine(nullptr, "reference")), "3: options is NULL");
  EXPECT_EQ(Told(attnrun_session_options_set_weight_cache(options.get(), nullptr)),
            "3: the value is NULL");
  EXPECT_EQ(Told(attnrun_session_options_set_engine(options.get(), "optimized")), "");
  EXPECT_EQ(Told(attnrun_session_options_disable_pass(options.get(), "atention")), "");
  const std::string bytes = Bytes();
  attnrun_session* session = nullptr;
  EXPECT_THAT(Told(attnrun_session_load_bytes(bytes.data(), bytes.size(), options.get(), &session)),
              HasSubstr("atention"));
  EXPECT_EQ(session, nullptr);
}

TEST(CSessionTest, NullIsAStatusAndMayBeFreed) {
  EXPECT_EQ(attnrun_status_code(nullptr), ATTNRUN_OK);
  EXPECT_STREQ(attnrun_status_message(nullptr), "");
  attnrun_status_free(nullptr);
  attnrun_tensor_free(nullptr);
  attnrun_session_free(nullptr);
  EXPECT_STREQ(attnrun_version(), ATTNRUN_VERSION);
}

}  // namespace
}  // namespace attnrun::testing

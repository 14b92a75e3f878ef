// SPDX-License-Identifier: Apache-2.0
// Every allocation of every function of the C API that can fail, in turn: alone, and with all that
// follow.
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <semaphore>
#include <string>
#include <vector>

#include "attnrun/c.h"
#include "attnrun/c_generator.h"
#include "capi/counting_decoder.h"
#include "capi/handles.h"
#include "session/failing_models.h"
#include "support/failing_calls.h"
#include "support/failing_malloc.h"

namespace attnrun::testing {
namespace {

constexpr int64_t kShape[] = {1, kFailingLength, kFailingWidth};
constexpr int64_t kIds[] = {1, 2, 3};

// y is the sum of what was before and x, float[1, length].
std::string SumModel() {
  onnx::ModelProto model = EmptyModel();
  onnx::GraphProto* graph = model.mutable_graph();
  for (const char* name : {"x", "past.0.key"}) {
    SetType(graph->add_input(), name, onnx::TensorProto::FLOAT, {1, 1});
  }
  for (const char* name : {"y", "present.0.key"}) {
    SetType(graph->add_output(), name, onnx::TensorProto::FLOAT, {1, 1});
  }
  const auto lengthen = [](onnx::ValueInfoProto* value, const std::string& length) {
    auto* shape = value->mutable_type()->mutable_tensor_type()->mutable_shape();
    shape->mutable_dim(1)->set_dim_param(length);
  };
  lengthen(graph->mutable_input(0), "new");
  lengthen(graph->mutable_input(1), "past");
  lengthen(graph->mutable_output(1), "total");
  onnx::TensorProto& axes = *graph->add_initializer();
  axes = MakeTensor("axes", onnx::TensorProto::INT64, {1});
  axes.add_int64_data(1);
  AddIntAttribute(AddNode(graph, "Concat", {"past.0.key", "x"}, {"present.0.key"}), "axis", 1);
  AddNode(graph, "ReduceSum", {"present.0.key", "axes"}, {"y"});
  return model.SerializeAsString();
}

class COutOfMemoryTest : public ::testing::TestWithParam<int64_t> {
 protected:
  void SetUp() override {
    if (!CanFailAllocations()) GTEST_SKIP() << "a sanitizer has the allocator";
    folder_.Write("layer.onnx", layer_);
    folder_.Write("model.onnx", CountingDecoder());
    folder_.Write("config.json", R"({"eos_token_id": [7], "max_position_embeddings": 20})");
    ASSERT_EQ(attnrun_session_options_new(&options_), nullptr);
    attnrun_session_options_set_threads(options_, 1);
  }
  void TearDown() override { attnrun_session_options_free(options_); }

  // Lets call(), which makes no object, fail.
  static void Fail(
      const std::string& name, const std::function<attnrun_status*()>& call,
      const std::function<void()>& tidy = [] {}, int64_t stride = 1) {
    SCOPED_TRACE(name);
    const auto status = [&] {
      attnrun_status* told = call();
      const auto code = static_cast<absl::StatusCode>(attnrun_status_code(told));
      attnrun_status_free(told);
      // Without a text, which needs memory.
      return absl::Status(code, "");
    };
    FailEach({.call = status, .tidy = tidy, .stride = stride}, GetParam());
  }

  // Lets make(&object) fail.
  template <typename T, typename Make>
  static void FailToMake(const std::string& name, Make make, int64_t stride = 1) {
    Handle<T> made;
    const auto call = [&] {
      T* object = nullptr;
      attnrun_status* const status = make(&object);
      EXPECT_EQ(status == nullptr, object != nullptr);
      made.reset(object);
      return status;
    };
    Fail(name, call, [&] { made.reset(); }, stride);
  }

  // Lets set(object) fail on a new object each time, which make(&object) makes.
  template <typename T, typename Make, typename Set>
  static void FailToSet(const std::string& name, Make make, Set set) {
    Handle<T> object = Made<T>(make);
    Fail(name, [&] { return set(object.get()); }, [&] { object = Made<T>(make); });
  }

  Handle<attnrun_session> Session(const std::string& bytes) const {
    return Made<attnrun_session>([&](attnrun_session** made) {
      return attnrun_session_load_bytes(bytes.data(), bytes.size(), options_, made);
    });
  }

  const TemporaryFolder folder_;
  const std::string layer_ = LayerModel().SerializeAsString();
  const std::string sum_ = SumModel();
  const std::vector<float> x_ = std::vector<float>(kFailingLength * kFailingWidth, 0.5F);
  attnrun_session_options* options_ = nullptr;
};

TEST_P(COutOfMemoryTest, Tensors) {
  const size_t size = x_.size() * sizeof(float);
  std::vector<float> memory(x_.size());
  const int64_t strides[] = {kFailingLength * kFailingWidth, kFailingWidth, 1};
  FailToMake<attnrun_tensor>("borrow", [&](attnrun_tensor** made) {
    return attnrun_tensor_borrow(ATTNRUN_TYPE_FLOAT, 3, kShape, strides, x_.data(), size, made);
  });
  FailToMake<attnrun_tensor>("borrow_mutable", [&](attnrun_tensor** made) {
    return attnrun_tensor_borrow_mutable(ATTNRUN_TYPE_FLOAT, 3, kShape, nullptr, memory.data(),
                                         size, made);
  });
  FailToMake<attnrun_tensor>("allocate", [&](attnrun_tensor** made) {
    return attnrun_tensor_allocate(ATTNRUN_TYPE_FLOAT, 3, kShape, made);
  });
  const int64_t two = 2;
  const char* const strings[] = {"short", "longer than a string holds in itself"};
  FailToMake<attnrun_tensor>("strings", [&](attnrun_tensor** made) {
    return attnrun_tensor_strings(1, &two, strings, nullptr, 2, made);
  });
  const Handle<attnrun_tensor> element = Floats({2}, {1, 2});
  const attnrun_tensor* const elements[] = {element.get(), element.get()};
  const auto sequence = [&](attnrun_tensor** made) {
    return attnrun_tensor_sequence(ATTNRUN_TYPE_FLOAT, elements, 2, made);
  };
  FailToMake<attnrun_tensor>("sequence", sequence);
  const Handle<attnrun_tensor> whole = Made<attnrun_tensor>(sequence);
  FailToMake<attnrun_tensor>("sequence_at", [&](attnrun_tensor** made) {
    return attnrun_tensor_sequence_at(whole.get(), 1, made);
  });
}

TEST_P(COutOfMemoryTest, Options) {
  FailToMake<attnrun_session_options>("session_options_new", attnrun_session_options_new);
  FailToMake<attnrun_run_options>("run_options_new", attnrun_run_options_new);
  FailToMake<attnrun_generate_options>("generate_options_new", attnrun_generate_options_new);
  FailToMake<attnrun_generator_options>("generator_options_new", attnrun_generator_options_new);
  FailToMake<attnrun_thread_pool>("thread_pool_new", [](attnrun_thread_pool** made) {
    return attnrun_thread_pool_new(2, made);
  });
  const char* const text = "longer than a string holds in itself";
  FailToSet<attnrun_generator_options>("set_draft", attnrun_generator_options_new,
                                       [&](attnrun_generator_options* options) {
                                         return attnrun_generator_options_set_draft(options, text);
                                       });
  const auto set = [](const char* name, auto setter) {
    FailToSet<attnrun_session_options>(name, attnrun_session_options_new, setter);
  };
  using Options = attnrun_session_options*;
  set("set_weight_cache",
      [&](Options options) { return attnrun_session_options_set_weight_cache(options, text); });
  set("disable_pass",
      [&](Options options) { return attnrun_session_options_disable_pass(options, text); });
  set("add_last_positions_of", [&](Options options) {
    return attnrun_session_options_add_last_positions_of(options, text);
  });
}

// The messages of errors need memory, too: without it, the status says that it ran out.
TEST_P(COutOfMemoryTest, Errors) {
  attnrun_session* session = nullptr;
  for (int64_t first = 0; first < 64; ++first) {
    FailAllocations(first, GetParam());
    attnrun_status* const status =
        attnrun_session_load("/a/long/path/that/leads/nowhere.onnx", options_, &session);
    const int64_t failed = StopFailing();
    EXPECT_TRUE(attnrun_status_code(status) == ATTNRUN_NOT_FOUND ||
                (failed > 0 && attnrun_status_code(status) == ATTNRUN_RESOURCE_EXHAUSTED))
        << attnrun_status_message(status);
    EXPECT_STRNE(attnrun_status_message(status), "");
    attnrun_status_free(status);
    EXPECT_EQ(session, nullptr);
  }
}

TEST_P(COutOfMemoryTest, Sessions) {
  const std::string path = folder_.path("layer.onnx");
  FailToMake<attnrun_model_info>("model_info_load", [&](attnrun_model_info** made) {
    return attnrun_model_info_load(path.c_str(), made);
  });
  constexpr int64_t kStride = 7;
  FailToMake<attnrun_session>(
      "session_load",
      [&](attnrun_session** made) { return attnrun_session_load(path.c_str(), options_, made); },
      kStride);
  FailToMake<attnrun_session>(
      "session_load_bytes",
      [&](attnrun_session** made) {
        return attnrun_session_load_bytes(layer_.data(), layer_.size(), options_, made);
      },
      kStride);
}

TEST_P(COutOfMemoryTest, Runs) {
  const Handle<attnrun_session> session = Session(layer_);
  const Handle<attnrun_tensor> x = Floats({kShape[0], kShape[1], kShape[2]}, x_);
  const attnrun_tensor* const input = x.get();
  const char* const input_name = "x";
  const char* const output_name = "y";
  const auto run = [&](attnrun_tensor** y) {
    return attnrun_session_run(session.get(), nullptr, &input_name, &input, 1, &output_name, y, 1);
  };
  FailToMake<attnrun_tensor>("run", run);
  std::vector<float> memory(x_.size());
  attnrun_tensor* given = nullptr;
  ASSERT_EQ(attnrun_tensor_borrow_mutable(ATTNRUN_TYPE_FLOAT, 3, kShape, nullptr, memory.data(),
                                          memory.size() * sizeof(float), &given),
            nullptr);
  const Handle<attnrun_tensor> owner(given);
  Fail("run into memory", [&] { return run(&given); });
}

TEST_P(COutOfMemoryTest, RunsThatNobodyWaitsFor) {
  Handle<attnrun_session> session = Session(layer_);
  const Handle<attnrun_tensor> x = Floats({kShape[0], kShape[1], kShape[2]}, x_);
  const attnrun_tensor* const input = x.get();
  const char* const input_name = "x";
  const char* const output_name = "y";
  struct End {
    std::binary_semaphore ended{0};
    attnrun_status* status = nullptr;
  } end;
  const attnrun_run_done done = [](void* context, attnrun_status* status) {
    auto* const told = static_cast<End*>(context);
    told->status = status;
    told->ended.release();
  };
  attnrun_tensor* y = nullptr;
  const auto run = [&] {
    attnrun_status* const status = attnrun_session_run_async(
        session.get(), nullptr, &input_name, &input, 1, &output_name, &y, 1, done, &end);
    if (status != nullptr) return status;
    end.ended.acquire();
    return end.status;
  };
  Fail("run_async", run, [&] {
    attnrun_tensor_free(y);
    y = nullptr;
    // Waits for the worker, which frees what the run had.
    session = Session(layer_);
  });
}

TEST_P(COutOfMemoryTest, States) {
  const Handle<attnrun_session> session = Session(sum_);
  ASSERT_NE(session, nullptr);
  const auto make = [&](attnrun_state** made) {
    return attnrun_session_new_state(session.get(), 1, 2, made);
  };
  FailToMake<attnrun_state>("new_state", make);
  Handle<attnrun_state> state = Made<attnrun_state>(make);
  const Handle<attnrun_tensor> x = Floats({1, 3}, {1, 2, 3});
  const attnrun_tensor* const input = x.get();
  const char* const input_name = "x";
  const char* const output_name = "y";
  attnrun_tensor* y = nullptr;
  const auto step = [&] {
    return attnrun_session_step(session.get(), nullptr, state.get(), &input_name, &input, 1,
                                &output_name, &y, 1);
  };
  Fail("step", step, [&] {
    // A step that failed leaves the state as it was.
    EXPECT_EQ(attnrun_state_length(state.get()), y == nullptr ? 0 : 3);
    attnrun_tensor_free(y);
    y = nullptr;
    state = Made<attnrun_state>(make);
  });
  Handle<attnrun_state> other = Made<attnrun_state>(make);
  attnrun_tensor* both[] = {nullptr, nullptr};
  const attnrun_tensor* const inputs[] = {input, input};
  const auto together = [&] {
    attnrun_state* const states[] = {state.get(), other.get()};
    return attnrun_session_run_together(session.get(), nullptr, 2, states, &input_name, inputs, 1,
                                        &output_name, both, 1);
  };
  Fail("together", together, [&] {
    EXPECT_EQ(attnrun_state_length(state.get()), both[0] == nullptr ? 0 : 3);
    EXPECT_EQ(attnrun_state_length(other.get()), both[1] == nullptr ? 0 : 3);
    for (attnrun_tensor*& output : both) {
      attnrun_tensor_free(output);
      output = nullptr;
    }
    state = Made<attnrun_state>(make);
    other = Made<attnrun_state>(make);
  });
  ASSERT_EQ(step(), nullptr);
  attnrun_tensor_free(y);
  FailToMake<attnrun_state>(
      "clone", [&](attnrun_state** made) { return attnrun_state_clone(state.get(), made); });
  const int64_t rows[] = {0, 0};
  FailToMake<attnrun_state>("select", [&](attnrun_state** made) {
    return attnrun_state_select(state.get(), rows, 2, made);
  });
  FailToMake<attnrun_tensor>("value", [&](attnrun_tensor** made) {
    return attnrun_state_value(state.get(), "past.0.key", made);
  });
  Fail("set", [&] { return attnrun_state_set(state.get(), "past.0.key", x.get()); });
  EXPECT_EQ(attnrun_state_length(state.get()), 3);
}

TEST_P(COutOfMemoryTest, Generation) {
  const std::string path = folder_.path(".");
  const auto load = [&](attnrun_generator** made) {
    return attnrun_generator_load(path.c_str(), options_, nullptr, made);
  };
  FailToMake<attnrun_generator>("generator_load", load, 7);
  const Handle<attnrun_generator> generator = Made<attnrun_generator>(load);
  ASSERT_NE(generator, nullptr);
  const auto request = [](attnrun_generation_request** made) {
    return attnrun_generation_request_new(kIds, 3, made);
  };
  FailToMake<attnrun_generation_request>("generation_request_new", request);
  using Request = attnrun_generation_request*;
  FailToSet<attnrun_generation_request>("set_encoder_ids", request, [](Request made) {
    return attnrun_generation_request_set_encoder_ids(made, kIds, 3);
  });
  const Handle<attnrun_tensor> tensor = Floats({1}, {1});
  FailToSet<attnrun_generation_request>("set_encoder_input", request, [&](Request made) {
    return attnrun_generation_request_set_encoder_input(made, "input_features", tensor.get());
  });
  const Handle<attnrun_generation_request> prompt = Made<attnrun_generation_request>(request);
  const attnrun_generation_request* const prompts[] = {prompt.get(), prompt.get()};
  for (const char* config :
       {R"({"max_new_tokens": 2, "do_sample": true, "top_p": 0.5, "bad_words_ids": [[1], [2, 3]]})",
        R"({"max_new_tokens": 2, "num_beams": 2, "repetition_penalty": 1.5})"}) {
    FailToMake<attnrun_generation_result>(config, [&](attnrun_generation_result** made) {
      return attnrun_generator_generate(generator.get(), prompts, 2, config, nullptr, made);
    });
  }
}

INSTANTIATE_TEST_SUITE_P(One, COutOfMemoryTest, ::testing::Values(1));
INSTANTIATE_TEST_SUITE_P(AllFrom, COutOfMemoryTest,
                         ::testing::Values(std::numeric_limits<int64_t>::max()));

}  // namespace
}  // namespace attnrun::testing

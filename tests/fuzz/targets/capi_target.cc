// SPDX-License-Identifier: Apache-2.0
// The C API: the fuzzer's bytes are calls, each with the objects of earlier ones, NULL where it is
// allowed, and arguments that do not fit.
#include <algorithm>
#include <array>
#include <cstring>
#include <future>
#include <string>
#include <vector>

#include "capi/handles.h"
#include "fuzz/choices.h"
#include "fuzz/targets/capi_models.h"
#include "fuzz/targets/target.h"

namespace attnrun::testing {
namespace {

constexpr size_t kSlots = 4;
constexpr int kMostCalls = 64;

// Some objects of a type, each of which may be missing.
template <typename T>
using Slots = std::array<Handle<T>, kSlots>;

class Caller {
 public:
  explicit Caller(Choices choices) : choices_(choices) {}

  void Run() {
    static constexpr void (Caller::* kCalls[])() = {&Caller::MakeSessionOptions,
                                                    &Caller::SetSessionOptions,
                                                    &Caller::Load,
                                                    &Caller::Load,
                                                    &Caller::MakePool,
                                                    &Caller::MakeRunOptions,
                                                    &Caller::Borrow,
                                                    &Caller::Borrow,
                                                    &Caller::BorrowMutable,
                                                    &Caller::Allocate,
                                                    &Caller::MakeStrings,
                                                    &Caller::MakeSequence,
                                                    &Caller::ReadTensor,
                                                    &Caller::ReadModel,
                                                    &Caller::RunSession,
                                                    &Caller::RunSession,
                                                    &Caller::RunSession,
                                                    &Caller::MakeState,
                                                    &Caller::Step,
                                                    &Caller::Step,
                                                    &Caller::StepTogether,
                                                    &Caller::ChangeState,
                                                    &Caller::ReadState,
                                                    &Caller::Release};
    for (int i = 0; i < kMostCalls && !choices_.empty(); ++i) {
      (this->*kCalls[choices_.Int(0, std::ssize(kCalls) - 1)])();
    }
  }

 private:
  template <typename T>
  Handle<T>& Slot(Slots<T>& slots) {
    return slots[choices_.Int(0, kSlots - 1)];
  }
  // An object or NULL.
  template <typename T>
  T* Any(Slots<T>& slots) {
    return Slot(slots).get();
  }

  // The text of the status is read, as a caller would.
  static void Take(attnrun_status* status) {
    if (status != nullptr && attnrun_status_code(status) == ATTNRUN_OK)
      Fail("a status without an error");
    if (attnrun_status_code(status) == ATTNRUN_INTERNAL) {
      Fail(absl::StrCat("an internal error: ", attnrun_status_message(status)));
    }
    Told(status);
  }

  // Puts the object that make(&object) makes into a slot, and frees the one that was there.
  template <typename T, typename Make>
  void Put(Slots<T>& slots, Make make) {
    T* made = nullptr;
    attnrun_status* const status = make(&made);
    if ((status == nullptr) != (made != nullptr)) Fail("a status that does not tell of the object");
    Take(status);
    if (made != nullptr) Slot(slots).reset(made);
  }

  const char* Name() {
    static constexpr const char* kNames[] = {
        "x", "y", "past.0.key", "present.0.key", "sum", "last_positions", "", "none"};
    return OneIn(16) ? nullptr : kNames[choices_.Int(0, std::ssize(kNames) - 1)];
  }
  bool OneIn(int64_t count) { return choices_.OneIn(count); }

  void MakeSessionOptions() { Put(options_, attnrun_session_options_new); }

  void SetSessionOptions() {
    attnrun_session_options* const options = Any(options_);
    if (options == nullptr) return;
    static constexpr const char* kEngines[] = {"optimized", "unoptimized", "reference", "",
                                               nullptr};
    static constexpr const char* kPrecisions[] = {"float32", "bf16", "int8-activations", "int8",
                                                  "x"};
    static constexpr const char* kLimits[] = {"file_bytes",   "nodes",     "run_bytes",
                                              "tensor_bytes", "body_runs", "folded_bytes",
                                              "none",         nullptr};
    switch (choices_.Int(0, 9)) {
      case 0:
        return Take(attnrun_session_options_set_engine(options, kEngines[choices_.Int(0, 4)]));
      case 1:
        return Take(
            attnrun_session_options_set_precision(options, kPrecisions[choices_.Int(0, 4)]));
      case 2:
        return attnrun_session_options_set_threads(options,
                                                   static_cast<int32_t>(choices_.Int(-1, 2)));
      case 3:
        return Take(attnrun_session_options_disable_pass(options, Name()));
      case 4:
        return Take(attnrun_session_options_add_last_positions_of(options, Name()));
      case 5:
        return Take(
            attnrun_session_options_set_limit(options, kLimits[choices_.Int(0, 7)], Number()));
      case 6:
        return attnrun_session_options_set_thread_pool(options, Any(pools_));
      case 7:
        return attnrun_session_options_set_cache_type(
            options, static_cast<attnrun_type>(choices_.Int(-1, 40)));
      case 8:
        return attnrun_session_options_set_few_rows(options, static_cast<int>(choices_.Int(0, 1)));
      default:
        return attnrun_session_options_set_map_files(options, static_cast<int>(choices_.Int(0, 1)));
    }
  }

  int64_t Number() {
    return choices_.Of({int64_t{0}, int64_t{1}, int64_t{2}, int64_t{3}, int64_t{5}, int64_t{64},
                        int64_t{-1}, int64_t{1000}, int64_t{1} << 40, INT64_MAX, INT64_MIN});
  }

  void Load() {
    const std::string& bytes = choices_.Pick(CapiModels());
    const size_t size = OneIn(16) ? bytes.size() / 2 : bytes.size();
    const attnrun_session_options* const options = Any(options_);
    // A state must not outlive its session, and slots are replaced.
    states_ = {};
    Put(sessions_, [&](attnrun_session** made) {
      return attnrun_session_load_bytes(OneIn(32) ? nullptr : bytes.data(), size, options, made);
    });
  }

  void MakePool() {
    const auto threads = static_cast<int32_t>(choices_.Int(-1, 2));
    Put(pools_, [&](attnrun_thread_pool** made) { return attnrun_thread_pool_new(threads, made); });
  }

  void MakeRunOptions() {
    Put(runs_, attnrun_run_options_new);
    attnrun_run_options* const run = Any(runs_);
    if (run == nullptr) return;
    attnrun_run_options_set_timeout(run, choices_.Of<int64_t>({-1, 0, 1000, 1'000'000, INT64_MAX}));
    attnrun_run_options_set_memory_limit(run, Number());
    attnrun_run_options_set_cancelled(run, OneIn(4) ? 1 : 0);
  }

  struct Layout {
    attnrun_type type;
    std::vector<int64_t> shape;
    std::vector<int64_t> strides;
  };
  Layout MakeLayout() {
    Layout layout{ATTNRUN_TYPE_FLOAT, {}, {}};
    if (OneIn(2)) layout.type = static_cast<attnrun_type>(choices_.Int(-1, 32));
    for (int64_t left = choices_.Int(0, 3); left > 0; --left) {
      layout.shape.push_back(OneIn(8) ? Number() : choices_.Int(0, 3));
      layout.strides.push_back(OneIn(8) ? Number() : choices_.Int(0, 4));
    }
    return layout;
  }

  void Borrow() {
    const Layout l = MakeLayout();
    const bool strided = OneIn(2);
    // Exactly the bytes that a dense tensor has, a few, or more than there are: the last only where
    // it must be refused.
    const size_t size =
        OneIn(2) ? Count(l) * 4 : static_cast<size_t>(choices_.Int(0, sizeof(memory_)));
    if (size > sizeof(memory_)) return;
    Put(tensors_, [&](attnrun_tensor** made) {
      return attnrun_tensor_borrow(l.type, l.shape.size(), l.shape.data(),
                                   strided ? l.strides.data() : nullptr,
                                   OneIn(32) ? nullptr : memory_, size, made);
    });
  }

  void BorrowMutable() {
    const Layout l = MakeLayout();
    const bool strided = OneIn(2);
    const size_t size =
        OneIn(2) ? Count(l) * 4 : static_cast<size_t>(choices_.Int(0, sizeof(written_)));
    if (size > sizeof(written_)) return;
    Put(tensors_, [&](attnrun_tensor** made) {
      return attnrun_tensor_borrow_mutable(l.type, l.shape.size(), l.shape.data(),
                                           strided ? l.strides.data() : nullptr, written_, size,
                                           made);
    });
  }

  static size_t Count(const Layout& layout) {
    size_t count = 1;
    for (const int64_t extent : layout.shape) {
      if (extent < 0 || extent > 64) return 0;
      count *= static_cast<size_t>(extent);
    }
    return count;
  }

  void Allocate() {
    const Layout l = MakeLayout();
    // Beside what is refused, only little memory.
    if (Count(l) == 0) return;
    Put(tensors_, [&](attnrun_tensor** made) {
      return attnrun_tensor_allocate(l.type, l.shape.size(), l.shape.data(), made);
    });
  }

  void MakeStrings() {
    static constexpr const char* kTexts[] = {"a", "", "some text that is longer than a few bytes"};
    static constexpr size_t kLengths[] = {1, 0, 9};
    const int64_t count = choices_.Int(0, 3);
    const int64_t shape[] = {OneIn(8) ? Number() : count};
    Put(tensors_, [&](attnrun_tensor** made) {
      return attnrun_tensor_strings(1, shape, kTexts, OneIn(2) ? kLengths : nullptr,
                                    static_cast<size_t>(count), made);
    });
  }

  void MakeSequence() {
    const attnrun_tensor* parts[] = {Any(tensors_), Any(tensors_)};
    const auto type = static_cast<attnrun_type>(choices_.Int(-1, 32));
    const auto count = static_cast<size_t>(choices_.Int(0, 2));
    Put(tensors_, [&](attnrun_tensor** made) {
      return attnrun_tensor_sequence(type, OneIn(16) ? nullptr : parts, count, made);
    });
  }

  void ReadTensor() {
    attnrun_tensor* const tensor = Any(tensors_);
    if (tensor == nullptr) return;
    attnrun_type_name(attnrun_tensor_type(tensor));
    // Volatile, so that no read is left out.
    volatile int64_t sum = 0;
    for (size_t i = 0; i < attnrun_tensor_rank(tensor); ++i) {
      sum = sum ^ attnrun_tensor_shape(tensor)[i];
    }
    // The bytes exist: a sanitizer sees reads outside.
    const auto* const bytes = static_cast<const uint8_t*>(attnrun_tensor_data(tensor));
    const size_t size = attnrun_tensor_byte_size(tensor);
    if (bytes != nullptr && size > 0 && size <= sizeof(memory_)) sum = sum ^ bytes[0];
    attnrun_tensor_mutable_data(tensor);
    const auto index = static_cast<size_t>(Number());
    size_t length = 0;
    const char* const text = attnrun_tensor_string(tensor, index, &length);
    if (text != nullptr && std::strlen(text) > length) Fail("a string without its end");
    if (attnrun_tensor_type(tensor) == ATTNRUN_TYPE_SEQUENCE) {
      Put(tensors_,
          [&](attnrun_tensor** made) { return attnrun_tensor_sequence_at(tensor, index, made); });
    }
  }

  void ReadModel() {
    const attnrun_session* const session = Any(sessions_);
    if (session == nullptr) return;
    const attnrun_model_info* const model = attnrun_session_model(session);
    for (size_t i = 0; i <= attnrun_model_info_input_count(model); ++i) {
      const attnrun_value_info* const input = attnrun_model_info_input(model, i);
      if (input == nullptr) continue;
      for (int32_t axis = -1; axis <= attnrun_value_info_rank(input); ++axis) {
        attnrun_value_info_dim(input, axis);
        attnrun_value_info_dim_name(input, axis);
      }
    }
    attnrun_model_info_output(model, static_cast<size_t>(Number()));
    attnrun_model_info_metadata_key(model, static_cast<size_t>(Number()));
    attnrun_session_metric(session, OneIn(2) ? "failed" : "none");
    attnrun_session_state_name(session, static_cast<size_t>(Number()));
  }

  // Calls run(names, inputs, count, names, outputs, count) and keeps the tensors that it makes.
  template <typename RunCall>
  void RunOn(RunCall run) {
    const char* input_names[] = {Name(), Name()};
    const attnrun_tensor* inputs[] = {Any(tensors_), Any(tensors_)};
    const char* output_names[] = {Name(), Name()};
    attnrun_tensor* const given[] = {OneIn(4) ? Any(tensors_) : nullptr, nullptr};
    attnrun_tensor* outputs[] = {given[0], given[1]};
    const auto input_count = static_cast<size_t>(choices_.Int(0, 2));
    const auto output_count = static_cast<size_t>(choices_.Int(0, 2));
    attnrun_status* const status =
        run(input_names, inputs, input_count, output_names, outputs, output_count);
    const bool failed = status != nullptr;
    Take(status);
    for (size_t i = 0; i < 2; ++i) {
      if (outputs[i] == given[i]) continue;
      if (failed) Fail("a tensor after an error");
      Slot(tensors_).reset(outputs[i]);
    }
  }

  void RunSession() {
    const attnrun_session* const session = Any(sessions_);
    const attnrun_run_options* const options = Any(runs_);
    if (OneIn(3)) {
      return RunOn([&](auto... arguments) {
        return RunInTurn([&](auto... receiver) {
          return attnrun_session_run_async(session, options, arguments..., receiver...);
        });
      });
    }
    RunOn([&](auto... arguments) { return attnrun_session_run(session, options, arguments...); });
  }

  // Calls start(done, context) and waits for the run.
  template <typename Start>
  static attnrun_status* RunInTurn(Start start) {
    std::promise<attnrun_status*> end;
    const attnrun_run_done done = [](void* context, attnrun_status* status) {
      static_cast<std::promise<attnrun_status*>*>(context)->set_value(status);
    };
    attnrun_status* const refused = start(done, &end);
    return refused != nullptr ? refused : end.get_future().get();
  }

  void MakeState() {
    attnrun_session* const session = Any(sessions_);
    if (session == nullptr) return;
    const int64_t batch = choices_.Of<int64_t>({1, 0, 2, 3, -1, INT64_MAX});
    const int64_t capacity = choices_.Of<int64_t>({0, 1, 5, -1, int64_t{1} << 40, INT64_MAX});
    Put(states_, [&](attnrun_state** made) {
      return attnrun_session_new_state(session, batch, capacity, made);
    });
  }

  void Step() {
    const attnrun_session* const session = Any(sessions_);
    attnrun_state* const state = Any(states_);
    const attnrun_run_options* const options = Any(runs_);
    RunOn([&](auto... arguments) {
      return attnrun_session_step(session, options, state, arguments...);
    });
  }

  void StepTogether() {
    const attnrun_session* const session = Any(sessions_);
    attnrun_state* const states[] = {Any(states_), Any(states_)};
    const attnrun_run_options* const options = Any(runs_);
    RunOn([&](const char* const* input_names, const attnrun_tensor* const* inputs,
              size_t input_count, const char* const* output_names, attnrun_tensor** outputs,
              size_t output_count) {
      // As many requests as RunOn has tensors for.
      const size_t count = 2 / std::max({size_t{1}, input_count, output_count});
      return attnrun_session_run_together(session, options, count, OneIn(8) ? nullptr : states,
                                          input_names, inputs, input_count, output_names, outputs,
                                          output_count);
    });
  }

  void ChangeState() {
    attnrun_state* const state = Any(states_);
    if (state == nullptr) return;
    const int64_t rows[] = {Number(), choices_.Int(0, 1)};
    switch (choices_.Int(0, 3)) {
      case 0:
        return Take(attnrun_state_rewind(state, Number()));
      case 1:
        return Put(states_, [&](attnrun_state** made) { return attnrun_state_clone(state, made); });
      case 2:
        return Put(states_, [&](attnrun_state** made) {
          return attnrun_state_select(state, rows, static_cast<size_t>(choices_.Int(0, 2)), made);
        });
      default:
        return Take(attnrun_state_set(state, Name(), Any(tensors_)));
    }
  }

  void ReadState() {
    const attnrun_state* const state = Any(states_);
    if (state == nullptr) return;
    if (attnrun_state_batch(state) < 0 || attnrun_state_length(state) < 0)
      Fail("a negative extent");
    attnrun_state_byte_size(state);
    Put(tensors_, [&](attnrun_tensor** made) { return attnrun_state_value(state, Name(), made); });
  }

  void Release() {
    switch (choices_.Int(0, 4)) {
      case 0:
        return Slot(options_).reset();
      case 1:
        return Slot(tensors_).reset();
      case 2:
        return Slot(states_).reset();
      case 3:
        return Slot(pools_).reset();
      default:
        return Slot(runs_).reset();
    }
  }

  Choices choices_;
  float memory_[64] = {1, 2, -3, 4, 0.5F};
  float written_[64] = {};
  Slots<attnrun_session_options> options_;
  Slots<attnrun_thread_pool> pools_;
  Slots<attnrun_run_options> runs_;
  Slots<attnrun_tensor> tensors_;
  Slots<attnrun_session> sessions_;
  // Destroyed before their sessions.
  Slots<attnrun_state> states_;
};

}  // namespace
}  // namespace attnrun::testing

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using attnrun::testing::Choices;
  attnrun::testing::Caller(Choices({data, size})).Run();
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_RUNTIME_STATE_IMPL_H_
#define ATTNRUN_RUNTIME_STATE_IMPL_H_

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "attnrun/state.h"
#include "attnrun/tensor.h"
#include "core/region.h"
#include "execution/executor.h"
#include "state_layout.h"

namespace attnrun {

// The tensors of a state, and how a run changes them: Lend, Own, then Advance or Retreat.
class __attribute__((visibility("hidden"))) State::Impl {
 public:
  // There is one shape per value of the layout, which is that of the session.
  static absl::StatusOr<std::unique_ptr<Impl>> Make(std::shared_ptr<const StateLayout> layout,
                                                    const std::vector<Shape>& shapes,
                                                    const StateOptions& options);

  // The bytes that the state has with options.capacity positions.
  static absl::StatusOr<size_t> Bytes(const StateLayout& layout, const std::vector<Shape>& shapes,
                                      const StateOptions& options);
  // The state that WriteStateFile has saved.
  static absl::StatusOr<std::unique_ptr<Impl>> Load(std::shared_ptr<const StateLayout> layout,
                                                    const std::string& path,
                                                    const std::vector<ValueInfo>& inputs,
                                                    int64_t capacity);
  absl::Status Save(const std::string& path) const;

  // States of one session have the same layout.
  const StateLayout& layout() const { return *layout_; }
  const StateOptions& options() const { return options_; }
  int64_t length() const;
  size_t byte_size() const;
  Tensor value(absl::string_view input) const;

  absl::Status Set(absl::string_view input, const Tensor& value);
  absl::Status Rewind(int64_t length);
  absl::StatusOr<std::unique_ptr<Impl>> Select(absl::Span<const int64_t> rows) const;
  absl::StatusOr<std::unique_ptr<Impl>> Clone() const;
  absl::StatusOr<std::unique_ptr<Impl>> Clone(int64_t length, int64_t capacity) const;

  // False if another thread uses the state. Leave follows each Enter that returned true.
  bool Enter() { return !used_.exchange(true); }
  void Leave() { used_ = false; }

  // The buffers for the next run. They have `count` inputs, those of the state's values set.
  exec::RunBuffers& Lend(size_t count);
  // Makes tensors that the state may keep from the outputs of the run.
  absl::Status Own();
  // Takes them.
  void Advance();
  // Forgets what a run that failed has done.
  void Retreat();

 private:
  Impl(std::shared_ptr<const StateLayout> layout, const StateOptions& options)
      : layout_(std::move(layout)), options_(options), extras_(layout_->values.size()) {}

  const StateValue& value(size_t i) const { return layout_->values[i]; }
  // The positions for which value i, of this shape, has room.
  int64_t CapacityFor(size_t i, const Shape& shape) const;
  // Memory for values of these shapes, side by side.
  Region RegionFor(absl::Span<const Shape> shapes) const;
  // Zeros for value i, with room to grow if it does.
  absl::StatusOr<Tensor> MemoryFor(size_t i, const Shape& shape, Allocator& allocator) const;
  // `tensor` in memory of the state's own.
  absl::StatusOr<Tensor> Owned(size_t i, const Tensor& tensor, Allocator& allocator) const;
  // Begins with these values, one per value of the layout, in memory of the state's own.
  absl::Status Adopt(absl::Span<const Tensor> tensors);
  bool IsInPlace(size_t i, const Tensor& result) const;
  absl::StatusOr<Tensor> NextOf(size_t i, const Tensor& result) const;
  Tensor Shortened(size_t i, int64_t length) const;
  absl::Status CheckRewind(int64_t length) const;
  absl::Status RewindWindows(int64_t now, int64_t length);
  std::optional<Tensor> EarlierWindow(size_t i, int64_t back, int64_t length) const;
  // Forgets what was appended to value i.
  void Stay(size_t i);
  std::unique_ptr<Impl> WithoutTensors() const;

  // How often a value is copied to memory in which runs could work in place, while none does.
  static constexpr int kRunsBetweenTries = 8;

  // A value has this beside its tensor.
  struct Extra {
    // The tensor for the next run, if the value has a journal: the state keeps another one of the
    // same bytes.
    Tensor lent;
    // The last runs that have not worked in place.
    int runs_elsewhere = 0;
  };

  const std::shared_ptr<const StateLayout> layout_;
  StateOptions options_;
  std::vector<Tensor> tensors_;
  std::vector<Extra> extras_;
  // Those of the run that is under way. They keep their memory from run to run.
  exec::RunBuffers buffers_;
  std::vector<Tensor> next_;
  std::atomic<bool> used_ = false;
};

}  // namespace attnrun

#endif  // ATTNRUN_RUNTIME_STATE_IMPL_H_

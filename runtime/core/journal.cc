// SPDX-License-Identifier: Apache-2.0
#include "core/journal.h"

#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/status.h"

namespace attnrun {
namespace {

class ByteJournal final : public Journal {
 public:
  explicit ByteJournal(Tensor memory) : memory_(std::move(memory)) {}

  void* data() { return memory_.mutable_raw(); }

  void Save(int64_t offset, int64_t count) override {
    ForgetZeros();
    // The bytes come first: a record without them would take back what follows it.
    const char* from = memory_.data<char>() + offset;
    bytes_.insert(bytes_.end(), from, from + count);
    if (!records_.empty() && records_.back().end() == offset) {
      records_.back().count += count;
    } else {
      records_.push_back({offset, count});
    }
  }

  std::optional<int64_t> ZerosFrom(absl::Span<const int64_t> shape) const override {
    if (is_new_) return 0;
    return zeros_from_.has_value() && shape == zeros_shape_ ? zeros_from_ : std::nullopt;
  }
  void SetZerosFrom(absl::Span<const int64_t> shape, int64_t position) override {
    zeros_shape_.assign(shape.begin(), shape.end());
    zeros_from_ = position;
  }
  void ForgetZeros() override {
    is_new_ = false;
    zeros_from_ = std::nullopt;
  }

  // From the last to the first, so that an element that was overwritten twice gets its first value.
  void RollBack() {
    if (records_.empty()) return;
    zeros_from_ = std::nullopt;
    // More bytes than records where memory ran out in between.
    int64_t end = 0;
    for (const Record& record : records_) end += record.count;
    for (auto record = records_.rbegin(); record != records_.rend(); ++record) {
      end -= record->count;
      std::memcpy(memory_.mutable_data<char>() + record->offset, bytes_.data() + end,
                  record->count);
    }
    Clear();
  }

  // Memory is kept for the next run, but not that of a long text.
  void Clear() {
    records_.clear();
    bytes_.clear();
    if (bytes_.capacity() <= memory_.byte_size() / 8 + kSmall) return;
    bytes_ = {};
    records_ = {};
  }

 private:
  static constexpr size_t kSmall = 4096;

  struct Record {
    int64_t offset;
    int64_t count;
    int64_t end() const { return offset + count; }
  };

  Tensor memory_;
  std::vector<Record> records_;
  std::vector<char> bytes_;
  bool is_new_ = true;
  std::optional<int64_t> zeros_from_;
  Shape zeros_shape_;
};

// The deleter of the pointer that keeps a journal alive. It tells a tensor with a journal from
// others.
struct KeepJournal {
  std::shared_ptr<ByteJournal> journal;
  void operator()(const void* /*bytes*/) const {}
};

const std::shared_ptr<ByteJournal>* Find(const Tensor& tensor) {
  const auto* keep = std::get_deleter<KeepJournal>(tensor.owner());
  const bool whole = keep != nullptr && tensor.is_dense() && tensor.raw() == keep->journal->data();
  return whole ? &keep->journal : nullptr;
}

Tensor TensorOf(DataType type, const Shape& shape, size_t bytes,
                const std::shared_ptr<ByteJournal>& journal) {
  const std::shared_ptr<const void> keep(journal->data(), KeepJournal{journal});
  return *Tensor::Borrow(type, shape, journal->data(), bytes, keep);
}

}  // namespace

absl::StatusOr<Tensor> MakeJournaled(DataType type, const Shape& shape, Allocator& allocator) {
  ATTNRUN_ASSIGN_OR_RETURN(Tensor memory, Tensor::Allocate(type, shape, allocator));
  const size_t bytes = memory.byte_size();
  std::memset(memory.mutable_raw(), 0, bytes);
  return TensorOf(type, shape, bytes, std::make_shared<ByteJournal>(std::move(memory)));
}

bool HasJournal(const Tensor& tensor) { return Find(tensor) != nullptr; }

Tensor Lent(const Tensor& tensor) {
  return TensorOf(tensor.type(), tensor.shape(), tensor.byte_size(), *Find(tensor));
}

void RollBack(const Tensor& tensor) { (*Find(tensor))->RollBack(); }
void Commit(const Tensor& tensor) { (*Find(tensor))->Clear(); }

Journal* JournalOf(const Tensor& tensor) {
  const std::shared_ptr<ByteJournal>* found = Find(tensor);
  return found != nullptr && tensor.owner().use_count() == 1 ? found->get() : nullptr;
}

}  // namespace attnrun

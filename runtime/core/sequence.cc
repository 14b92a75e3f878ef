// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <memory>
#include <new>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "attnrun/tensor.h"
#include "core/status.h"

namespace attnrun {
namespace {

// Precedes the Tensor objects of a sequence in one block of memory. Sequences that were made from
// each other by Appended share a block, and each has its first num_elements() objects.
struct alignas(64) BlockHeader {
  BlockHeader(DataType type, int64_t places) : element(type), capacity(places) {}

  const DataType element;
  const int64_t capacity;
  // The number of objects made so far, as many as the longest sequence has.
  std::atomic<int64_t> size = 0;
};

BlockHeader& HeaderOf(const Tensor* objects) {
  auto* bytes = reinterpret_cast<char*>(const_cast<Tensor*>(objects));
  return *reinterpret_cast<BlockHeader*>(bytes - sizeof(BlockHeader));
}

// A block without objects. The pointer is to the place of the first one.
absl::StatusOr<std::shared_ptr<Tensor>> MakeBlock(DataType element, int64_t capacity,
                                                  Allocator& allocator) {
  ATTNRUN_ASSIGN_OR_RETURN(
      std::shared_ptr<void> memory,
      allocator.Allocate(sizeof(BlockHeader) + static_cast<size_t>(capacity) * sizeof(Tensor)));
  auto* header = new (memory.get()) BlockHeader(element, capacity);
  auto* objects = reinterpret_cast<Tensor*>(header + 1);
  return std::shared_ptr<Tensor>(objects, [memory = std::move(memory)](Tensor* first) {
    std::destroy_n(first, HeaderOf(first).size.load());
  });
}

absl::StatusOr<Tensor> Checked(const Tensor& tensor, DataType element, Allocator& allocator) {
  if (tensor.type() == element) return tensor.Dense(allocator);
  return absl::InvalidArgumentError(
      absl::StrCat("a sequence of ", Name(element), " tensors cannot hold ", TypeAndShape(tensor)));
}

}  // namespace

absl::StatusOr<Tensor> Tensor::Sequence(DataType element, absl::Span<const Tensor> tensors,
                                        Allocator& allocator) {
  if (!IsValid(element)) {
    return absl::InvalidArgumentError(
        absl::StrCat("there are no sequences of ", Name(element), " tensors"));
  }
  const auto count = static_cast<int64_t>(tensors.size());
  ATTNRUN_ASSIGN_OR_RETURN(const std::shared_ptr<Tensor> block,
                           MakeBlock(element, count, allocator));
  for (int64_t i = 0; i < count; ++i) {
    ATTNRUN_ASSIGN_OR_RETURN(Tensor tensor, Checked(tensors[i], element, allocator));
    new (block.get() + i) Tensor(std::move(tensor));
    ++HeaderOf(block.get()).size;
  }
  Tensor sequence;
  sequence.type_ = DataType::kSequence;
  sequence.shape_ = {count};
  sequence.num_elements_ = count;
  sequence.data_ = block.get();
  sequence.owner_ = block;
  return sequence;
}

absl::Span<const Tensor> Tensor::tensors() const {
  return {data<Tensor>(), static_cast<size_t>(num_elements_)};
}

DataType Tensor::element_type() const { return HeaderOf(data<Tensor>()).element; }

absl::StatusOr<Tensor> Tensor::Appended(const Tensor& tensor, Allocator& allocator) const {
  ATTNRUN_ASSIGN_OR_RETURN(Tensor last, Checked(tensor, element_type(), allocator));
  const int64_t count = num_elements_;
  Tensor longer = *this;
  BlockHeader& header = HeaderOf(data<Tensor>());
  int64_t made = count;
  // Only one of several sequences that are appended to at a time gets the place behind the last.
  const bool fits = count < header.capacity && header.size.compare_exchange_strong(made, count + 1);
  if (!fits) {
    constexpr int64_t kLeast = 4;
    ATTNRUN_ASSIGN_OR_RETURN(const std::shared_ptr<Tensor> block,
                             MakeBlock(header.element, std::max(kLeast, 2 * count), allocator));
    std::uninitialized_copy_n(data<Tensor>(), count, block.get());
    HeaderOf(block.get()).size = count + 1;
    longer.data_ = block.get();
    longer.owner_ = block;
  }
  new (const_cast<Tensor*>(longer.data<Tensor>()) + count) Tensor(std::move(last));
  longer.shape_ = {count + 1};
  longer.num_elements_ = count + 1;
  return longer;
}

}  // namespace attnrun

// SPDX-License-Identifier: Apache-2.0
#include "state_file.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "attnrun/precision.h"
#include "core/div_ceil.h"
#include "core/file_bytes.h"
#include "core/quote.h"
#include "core/status.h"
#include "weight_cache/checksum.h"
#include "weight_cache/file_words.h"
#include "weight_cache/replace_file.h"

namespace attnrun {
namespace {

using cache::Checksum;
using cache::FileWords;
using cache::WordReader;

constexpr uint64_t kMagic = 0x74617473'6e747461;  // "attnstat"
constexpr uint64_t kFormat = 1;
constexpr size_t kWord = sizeof(uint64_t);

absl::string_view BytesOf(const Tensor& tensor) {
  return {tensor.data<char>(), tensor.byte_size()};
}

size_t Padding(size_t bytes) { return DivCeil(bytes, kWord) * kWord - bytes; }

FileWords HeadOf(const StateLayout& layout, int64_t batch, absl::Span<const Tensor> dense) {
  const cache::ContentHash content = layout.model->Content();
  FileWords words = {kMagic,
                     kFormat,
                     content.size,
                     content.low,
                     content.high,
                     static_cast<uint64_t>(layout.model->precision()),
                     static_cast<uint64_t>(batch),
                     dense.size()};
  for (size_t i = 0; i < dense.size(); ++i) {
    const StateValue& value = layout.values[i];
    cache::AppendText(value.input, words);
    cache::AppendText(value.output, words);
    words.push_back(static_cast<uint64_t>(value.kind));
    words.push_back(static_cast<uint64_t>(value.axis));
    words.push_back(static_cast<uint64_t>(dense[i].type()));
    words.push_back(dense[i].rank());
    for (const int64_t extent : dense[i].shape()) words.push_back(static_cast<uint64_t>(extent));
    words.push_back(dense[i].byte_size());
    words.push_back(Checksum::Of(BytesOf(dense[i])).low);
  }
  words.push_back(Checksum::Of(cache::BytesOf(words)).low);
  return words;
}

absl::Status Damaged(absl::string_view how) {
  return absl::InvalidArgumentError(absl::StrCat("the saved state is damaged: ", how));
}

// Reads the bytes of a file.
class Reading {
 public:
  Reading(absl::string_view bytes, const StateLayout& layout, const std::vector<ValueInfo>& inputs)
      : bytes_(bytes), layout_(layout), inputs_(inputs), head_(bytes) {}

  absl::StatusOr<SavedState> Read() {
    ATTNRUN_RETURN_IF_ERROR(ReadModel());
    SavedState state;
    state.batch = static_cast<int64_t>(head_.Next());
    const uint64_t count = head_.Next();
    if (!head_.ok() || state.batch < 0) return Damaged("its head is cut short");
    if (count != layout_.values.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("it has ", count, " values, but the model ", layout_.values.size()));
    }
    for (size_t i = 0; i < count; ++i) ATTNRUN_RETURN_IF_ERROR(ReadEntry(i));
    ATTNRUN_RETURN_IF_ERROR(CheckHead());
    for (size_t i = 0; i < count; ++i) {
      ATTNRUN_ASSIGN_OR_RETURN(state.tensors.emplace_back(), ReadTensor(i));
    }
    if (!rest_.empty()) return Damaged("bytes follow its end");
    return state;
  }

 private:
  struct Entry {
    DataType type = DataType::kUndefined;
    Shape shape;
    uint64_t bytes = 0;
    uint64_t checksum = 0;
  };

  absl::Status ReadModel() {
    if (head_.Next() != kMagic) return absl::InvalidArgumentError("the file is not a saved state");
    const uint64_t format = head_.Next();
    if (head_.ok() && format != kFormat) {
      return absl::InvalidArgumentError(absl::StrCat("the saved state is of format ", format,
                                                     ", but this version reads ", kFormat));
    }
    cache::ContentHash content;
    for (uint64_t* word : {&content.size, &content.low, &content.high}) *word = head_.Next();
    const uint64_t precision = head_.Next();
    if (!head_.ok()) return Damaged("its head is cut short");
    if (content != layout_.model->Content()) {
      return absl::InvalidArgumentError("the state was saved by a session of another model");
    }
    if (precision == static_cast<uint64_t>(layout_.model->precision())) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("the state was saved by a session of another precision than ",
                     Name(layout_.model->precision())));
  }

  absl::Status ReadEntry(size_t i) {
    const StateValue& value = layout_.values[i];
    const std::string input = head_.NextText();
    const std::string output = head_.NextText();
    const uint64_t kind = head_.Next();
    const uint64_t axis = head_.Next();
    Entry& entry = entries_.emplace_back();
    const uint64_t type = head_.Next();
    const uint64_t rank = head_.Next();
    const auto& declared = inputs_[layout_.inputs[i]].shape;
    const bool fits = head_.ok() && input == value.input && output == value.output &&
                      kind == static_cast<uint64_t>(value.kind) &&
                      axis == static_cast<uint64_t>(value.axis) && declared.has_value() &&
                      rank == declared->size();
    if (!fits)
      return Damaged(absl::StrCat("the value of input ", Quoted(value.input), " is not there"));
    if (type != static_cast<uint64_t>(layout_.types[i])) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the state was saved by a session of another cache_type: its value of input ",
          Quoted(value.input), " is not ", Name(layout_.types[i])));
    }
    entry.type = layout_.types[i];
    for (const Dim& dim : *declared) {
      entry.shape.push_back(static_cast<int64_t>(head_.Next()));
      if (!dim.is_fixed() || dim.value == entry.shape.back()) continue;
      return Damaged(absl::StrCat("the value of input ", Quoted(value.input), " has extent ",
                                  entry.shape.back(), " instead of ", dim.value));
    }
    entry.bytes = head_.Next();
    entry.checksum = head_.Next();
    return absl::OkStatus();
  }

  // All of the head was read but its checksum.
  absl::Status CheckHead() {
    const absl::string_view head = bytes_.substr(0, bytes_.size() - head_.rest().size());
    const uint64_t checksum = head_.Next();
    if (!head_.ok()) return Damaged("its head is cut short");
    if (checksum != Checksum::Of(head).low) return Damaged("the checksum of its head differs");
    rest_ = head_.rest();
    return absl::OkStatus();
  }

  absl::StatusOr<Tensor> ReadTensor(size_t i) {
    const Entry& entry = entries_[i];
    const std::string& input = layout_.values[i].input;
    // No sum may overflow.
    if (entry.bytes > rest_.size() || Padding(entry.bytes) > rest_.size() - entry.bytes) {
      return Damaged(absl::StrCat("the value of input ", Quoted(input), " is cut short"));
    }
    const absl::string_view bytes = rest_.substr(0, entry.bytes);
    const absl::string_view padding = rest_.substr(entry.bytes, Padding(entry.bytes));
    rest_.remove_prefix(bytes.size() + padding.size());
    const bool is_zero = padding.find_first_not_of('\0') == absl::string_view::npos;
    if (!is_zero || entry.checksum != Checksum::Of(bytes).low) {
      return Damaged(
          absl::StrCat("the checksum of the value of input ", Quoted(input), " differs"));
    }
    absl::StatusOr<Tensor> view =
        Tensor::Borrow(entry.type, entry.shape, bytes.data(), bytes.size());
    if (!view.ok()) return Damaged(view.status().message());
    return view;
  }

  const absl::string_view bytes_;
  const StateLayout& layout_;
  const std::vector<ValueInfo>& inputs_;
  WordReader head_;
  std::vector<Entry> entries_;
  // The bytes of the values that were not read yet.
  absl::string_view rest_;
};

}  // namespace

absl::Status WriteStateFile(const std::string& path, const StateLayout& layout, int64_t batch,
                            absl::Span<const Tensor> tensors) {
  static constexpr char kZeros[kWord] = {};
  std::vector<Tensor> dense;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].type() == DataType::kString) {
      return absl::UnimplementedError(absl::StrCat("the state cannot be saved: input ",
                                                   Quoted(layout.values[i].input), " has strings"));
    }
    ATTNRUN_ASSIGN_OR_RETURN(dense.emplace_back(), tensors[i].Dense());
  }
  const FileWords head = HeadOf(layout, batch, dense);
  std::vector<absl::string_view> parts = {cache::BytesOf(head)};
  for (const Tensor& tensor : dense) {
    parts.push_back(BytesOf(tensor));
    parts.emplace_back(kZeros, Padding(tensor.byte_size()));
  }
  return cache::ReplaceFile(path, parts).status();
}

absl::Status ReadStateFile(const std::string& path, const StateLayout& layout,
                           const std::vector<ValueInfo>& inputs,
                           absl::FunctionRef<absl::Status(const SavedState&)> take) {
  const auto file = FileBytes::Open(path, FileAccess::kRead);
  if (!file.ok()) return Annotate(file.status(), path);
  const absl::StatusOr<SavedState> state = Reading((*file)->bytes(), layout, inputs).Read();
  if (!state.ok()) return Annotate(state.status(), path);
  return take(*state);
}

}  // namespace attnrun

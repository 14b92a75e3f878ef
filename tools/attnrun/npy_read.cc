// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "tools/attnrun/npy.h"
#include "tools/attnrun/npy_header.h"
#include "tools/attnrun/utf.h"

namespace attnrun::cli {
namespace {

static_assert(std::endian::native == std::endian::little);

void SwapBytes(char* data, int64_t size, int unit) {
  for (char* end = data + size; data != end; data += unit) std::reverse(data, data + unit);
}

// Checks that the rest of the file has exactly the size of the array.
absl::Status CheckSize(const NpyHeader& header, int64_t count, int64_t remaining) {
  const int64_t bytes = header.element.bytes;
  if (bytes == 0 && count > 0) {
    return absl::InvalidArgumentError(
        "expected strings, but the header announces elements of 0 bytes");
  }
  if (bytes == 0 ? remaining == 0 : remaining % bytes == 0 && remaining / bytes == count) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("the header announces shape ", ToString(header.shape), " of ", bytes,
                   "-byte elements, but ", remaining, " bytes follow"));
}

absl::StatusOr<std::string> DecodeUnicode(std::string& bytes, bool swapped) {
  if (swapped) SwapBytes(bytes.data(), static_cast<int64_t>(bytes.size()), 4);
  std::u32string text(bytes.size() / 4, U'\0');
  std::memcpy(text.data(), bytes.data(), bytes.size());
  text.resize(text.find_last_not_of(U'\0') + 1);
  std::optional<std::string> result = ToUtf8(text);
  if (result.has_value()) return *std::move(result);
  return absl::InvalidArgumentError("a Unicode string contains an invalid code point");
}

// Reads so many bytes, in pieces, since a header may announce more than there are.
absl::Status ReadPieces(ByteSource& source, size_t size, std::string& bytes) {
  constexpr size_t kPiece = 1 << 20;
  bytes.clear();
  while (bytes.size() < size) {
    const size_t begin = bytes.size();
    bytes.resize(std::min(size, begin + kPiece));
    ATTNRUN_RETURN_IF_ERROR(source.Read(bytes.data() + begin, bytes.size() - begin));
  }
  return absl::OkStatus();
}

absl::Status ReadStrings(ByteSource& source, const NpyElement& element, Tensor& tensor) {
  std::string bytes;
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    ATTNRUN_RETURN_IF_ERROR(ReadPieces(source, element.bytes, bytes));
    std::string& out = tensor.mutable_data<std::string>()[i];
    if (element.kind == NpyElement::Kind::kUnicode) {
      ATTNRUN_ASSIGN_OR_RETURN(out, DecodeUnicode(bytes, element.swapped));
    } else {
      // NumPy pads with NUL and cannot distinguish padding from content.
      out = bytes.substr(0, bytes.find_last_not_of('\0') + 1);
    }
  }
  return absl::OkStatus();
}

absl::Status ReadNumbers(ByteSource& source, const NpyElement& element, Tensor& tensor) {
  auto* data = static_cast<char*>(tensor.mutable_raw());
  const auto size = static_cast<int64_t>(tensor.byte_size());
  ATTNRUN_RETURN_IF_ERROR(source.Read(data, size));
  if (element.swapped) SwapBytes(data, size, element.swap_unit);
  if (element.kind == NpyElement::Kind::kBool) {
    // C++ bools must be 0 or 1.
    std::for_each(data, data + size, [](char& byte) { byte = byte != 0 ? 1 : 0; });
  }
  return absl::OkStatus();
}

// A row-major copy of a column-major array. `reversed` has its bytes, with the axes in reverse
// order.
absl::StatusOr<Tensor> FromFortranOrder(const Tensor& reversed, absl::Span<const int64_t> shape) {
  Shape strides = DenseStrides(reversed.shape());
  std::reverse(strides.begin(), strides.end());
  return reversed.View(shape, strides, 0).Dense();
}

}  // namespace

absl::StatusOr<Tensor> ReadNpy(ByteSource& source) {
  ATTNRUN_ASSIGN_OR_RETURN(const NpyHeader header, ReadNpyHeader(source));
  ATTNRUN_ASSIGN_OR_RETURN(const int64_t count, NumElements(header.shape));
  ATTNRUN_RETURN_IF_ERROR(CheckSize(header, count, source.remaining()));
  Shape stored = header.shape;
  if (header.fortran_order) std::reverse(stored.begin(), stored.end());
  ATTNRUN_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(header.element.type, stored));
  ATTNRUN_RETURN_IF_ERROR(header.element.type == DataType::kString
                              ? ReadStrings(source, header.element, tensor)
                              : ReadNumbers(source, header.element, tensor));
  return header.fortran_order ? FromFortranOrder(tensor, header.shape) : tensor;
}

absl::StatusOr<Tensor> ReadNpyFile(const std::string& path) {
  absl::StatusOr<std::unique_ptr<ByteSource>> file = OpenFile(path);
  if (!file.ok()) return Annotate(file.status(), path);
  absl::StatusOr<Tensor> tensor = ReadNpy(**file);
  if (!tensor.ok()) return Annotate(tensor.status(), path);
  return tensor;
}

}  // namespace attnrun::cli

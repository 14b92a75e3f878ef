// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "core/status.h"
#include "tools/attnrun/npy.h"
#include "tools/attnrun/npy_header.h"
#include "tools/attnrun/utf.h"

namespace attnrun::cli {
namespace {

// NumPy's name of a type whose elements have the same layout in the file as in memory.
std::string Descr(DataType type) {
  const int bytes = BitWidth(type) / 8;
  const bool native_float =
      type == DataType::kFloat16 || type == DataType::kFloat || type == DataType::kDouble;
  const char* order = bytes == 1 ? "|" : "<";
  if (type == DataType::kBool) return "|b1";
  if (type == DataType::kComplex64 || type == DataType::kComplex128)
    return absl::StrCat("<c", bytes);
  if (native_float) return absl::StrCat("<f", bytes);
  if (IsFloatingPoint(type)) return absl::StrCat("<V", bytes);
  return absl::StrCat(order, IsSignedInteger(type) ? "i" : "u", bytes);
}

// Elements of a 4- or 2-bit type, one per byte: integers by value, float4 by bit pattern.
absl::StatusOr<Tensor> Unpack(const Tensor& packed) {
  const int bits = BitWidth(packed.type());
  const bool is_signed = IsSignedInteger(packed.type());
  const DataType type = is_signed ? DataType::kInt8 : DataType::kUint8;
  ATTNRUN_ASSIGN_OR_RETURN(Tensor result, Tensor::Allocate(type, packed.shape()));
  const auto* in = packed.data<uint8_t>();
  auto* out = result.mutable_data<uint8_t>();
  for (int64_t i = 0; i < packed.num_elements(); ++i) {
    const int64_t first_bit = i * bits;
    const auto high = static_cast<uint8_t>(in[first_bit / 8] >> (first_bit % 8) << (8 - bits));
    out[i] = is_signed ? static_cast<uint8_t>(static_cast<int8_t>(high) >> (8 - bits))
                       : static_cast<uint8_t>(high >> (8 - bits));
  }
  return result;
}

// An array of strings, each `width` bytes wide and padded with NUL.
absl::StatusOr<NpyBytes> Padded(absl::string_view descr, absl::Span<const int64_t> shape,
                                const std::vector<std::string>& strings, size_t width) {
  const auto count = static_cast<int64_t>(strings.size());
  ATTNRUN_ASSIGN_OR_RETURN(
      Tensor bytes, Tensor::Allocate(DataType::kUint8, {count, static_cast<int64_t>(width)}));
  std::fill_n(bytes.mutable_data<char>(), bytes.byte_size(), '\0');
  for (size_t i = 0; i < strings.size(); ++i) {
    std::memcpy(bytes.mutable_data<char>() + i * width, strings[i].data(), strings[i].size());
  }
  return NpyBytes{FormatNpyHeader(descr, shape), bytes};
}

size_t Longest(const std::vector<std::string>& strings) {
  size_t longest = 0;
  for (const std::string& string : strings) longest = std::max(longest, string.size());
  return longest;
}

absl::StatusOr<NpyBytes> StringsToNpy(const Tensor& tensor) {
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<std::string> strings, ToStrings(tensor));
  std::vector<std::string> wide;
  for (const std::string& string : strings) {
    const std::optional<std::u32string> text = FromUtf8(string);
    if (!text.has_value()) {
      const size_t width = std::max<size_t>(Longest(strings), 1);
      return Padded(absl::StrCat("|S", width), tensor.shape(), strings, width);
    }
    wide.emplace_back(reinterpret_cast<const char*>(text->data()), text->size() * 4);
  }
  const size_t width = std::max<size_t>(Longest(wide), 4);
  return Padded(absl::StrCat("<U", width / 4), tensor.shape(), wide, width);
}

// The same bits, as another type of the same width.
absl::StatusOr<Tensor> Reinterpret(const Tensor& tensor, DataType type) {
  ATTNRUN_ASSIGN_OR_RETURN(Tensor result, Tensor::Allocate(type, tensor.shape()));
  std::memcpy(result.mutable_raw(), tensor.raw(), tensor.byte_size());
  return result;
}

// Packs the lowest bits of each byte into a 4- or 2-bit type.
absl::StatusOr<Tensor> Pack(const Tensor& tensor, DataType type) {
  ATTNRUN_ASSIGN_OR_RETURN(Tensor result, Tensor::Allocate(type, tensor.shape()));
  const int bits = BitWidth(type);
  std::fill_n(result.mutable_data<uint8_t>(), result.byte_size(), uint8_t{0});
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    const int64_t first_bit = i * bits;
    const int value = tensor.data<uint8_t>()[i] & ((1 << bits) - 1);
    result.mutable_data<uint8_t>()[first_bit / 8] |= static_cast<uint8_t>(value << (first_bit % 8));
  }
  return result;
}

}  // namespace

absl::StatusOr<NpyBytes> ToNpy(const Tensor& tensor) {
  ATTNRUN_ASSIGN_OR_RETURN(Tensor dense, tensor.Dense());
  if (dense.type() == DataType::kString) return StringsToNpy(dense);
  const bool raw = IsFloatingPoint(dense.type());
  if (BitWidth(dense.type()) < 8) {
    ATTNRUN_ASSIGN_OR_RETURN(dense, Unpack(dense));
    return NpyBytes{FormatNpyHeader(raw ? "<V1" : Descr(dense.type()), dense.shape()), dense};
  }
  return NpyBytes{FormatNpyHeader(Descr(dense.type()), dense.shape()), dense};
}

absl::StatusOr<Tensor> AsDeclared(const Tensor& tensor, DataType declared) {
  const int bits = BitWidth(declared);
  const bool bytes = tensor.type() == DataType::kUint8 || tensor.type() == DataType::kInt8;
  if (bits > 0 && bits < 8 && bytes) return Pack(tensor, declared);
  const bool raw_bits = (bits == 8 && tensor.type() == DataType::kUint8) ||
                        (declared == DataType::kBfloat16 && tensor.type() == DataType::kUint16);
  if (IsFloatingPoint(declared) && raw_bits) return Reinterpret(tensor, declared);
  return tensor;
}

}  // namespace attnrun::cli

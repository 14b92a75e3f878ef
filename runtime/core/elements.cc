// SPDX-License-Identifier: Apache-2.0
#include "core/elements.h"

#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/minifloat.h"
#include "core/status.h"

namespace attnrun {
namespace {

// Element i of a type narrower than a byte, as an unsigned bit pattern.
uint8_t PackedBits(const uint8_t* data, int64_t i, int bits) {
  const int64_t per_byte = 8 / bits;
  return (data[i / per_byte] >> (bits * (i % per_byte))) & ((1 << bits) - 1);
}

int64_t SignExtend(uint64_t bits, int width) {
  const int shift = 64 - width;
  return static_cast<int64_t>(bits << shift) >> shift;
}

template <typename T, typename Out>
std::vector<Out> Convert(const Tensor& tensor) {
  const T* data = tensor.data<T>();
  return std::vector<Out>(data, data + tensor.num_elements());
}

template <typename Out>
std::vector<Out> UnpackIntegers(const Tensor& tensor) {
  const int bits = BitWidth(tensor.type());
  const bool is_signed = IsSignedInteger(tensor.type());
  std::vector<Out> values(tensor.num_elements());
  for (size_t i = 0; i < values.size(); ++i) {
    const uint8_t raw = PackedBits(tensor.data<uint8_t>(), static_cast<int64_t>(i), bits);
    values[i] = static_cast<Out>(is_signed ? SignExtend(raw, bits) : raw);
  }
  return values;
}

std::vector<double> DecodeFloats(const Tensor& tensor) {
  const int bits = BitWidth(tensor.type());
  std::vector<double> values(tensor.num_elements());
  for (size_t i = 0; i < values.size(); ++i) {
    const uint16_t raw = bits == 16 ? tensor.data<uint16_t>()[i]
                         : bits == 8
                             ? tensor.data<uint8_t>()[i]
                             : PackedBits(tensor.data<uint8_t>(), static_cast<int64_t>(i), bits);
    values[i] = DecodeFloat(tensor.type(), raw);
  }
  return values;
}

// Converts integers and bool; kInvalidArgument for other types.
template <typename Out>
absl::StatusOr<std::vector<Out>> ConvertNative(const Tensor& tensor) {
  switch (tensor.type()) {
    case DataType::kUint8:
      return Convert<uint8_t, Out>(tensor);
    case DataType::kInt8:
      return Convert<int8_t, Out>(tensor);
    case DataType::kUint16:
      return Convert<uint16_t, Out>(tensor);
    case DataType::kInt16:
      return Convert<int16_t, Out>(tensor);
    case DataType::kInt32:
      return Convert<int32_t, Out>(tensor);
    case DataType::kInt64:
      return Convert<int64_t, Out>(tensor);
    case DataType::kBool:
      return Convert<uint8_t, Out>(tensor);
    case DataType::kUint32:
      return Convert<uint32_t, Out>(tensor);
    case DataType::kUint64:
      return Convert<uint64_t, Out>(tensor);
    case DataType::kUint4:
    case DataType::kInt4:
    case DataType::kUint2:
    case DataType::kInt2:
      return UnpackIntegers<Out>(tensor);
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("a tensor of ", Name(tensor.type()), " cannot be used as numbers here"));
  }
}

uint64_t WrapToBits(double value) {
  if (std::isnan(value)) return 0;
  const double truncated = std::trunc(value);
  if (truncated >= -9223372036854775808.0 && truncated < 9223372036854775808.0) {
    return static_cast<uint64_t>(static_cast<int64_t>(truncated));
  }
  if (truncated >= 0 && truncated < 18446744073709551616.0) return static_cast<uint64_t>(truncated);
  // Outside every 64-bit range: the value modulo 2^64, 0 for infinities.
  if (std::isinf(truncated)) return 0;
  const double wrapped = std::fmod(std::fabs(truncated), 18446744073709551616.0);
  const auto bits = static_cast<uint64_t>(wrapped);
  return truncated < 0 ? ~bits + 1 : bits;
}

uint64_t BitsOf(double value) { return WrapToBits(value); }
uint64_t BitsOf(int64_t value) { return static_cast<uint64_t>(value); }

void WritePacked(uint8_t* data, int64_t i, int bits, uint64_t value) {
  const int64_t per_byte = 8 / bits;
  const int shift = static_cast<int>(bits * (i % per_byte));
  const auto mask = static_cast<uint8_t>((1 << bits) - 1);
  uint8_t& byte = data[i / per_byte];
  // The first element of a byte clears the uninitialized rest of it.
  if (shift == 0) byte = 0;
  byte = static_cast<uint8_t>(byte | ((value & mask) << shift));
}

template <typename In>
void WriteFloats(Tensor& tensor, absl::Span<const In> values) {
  const int bits = BitWidth(tensor.type());
  for (size_t i = 0; i < values.size(); ++i) {
    const uint16_t raw = EncodeFloat(tensor.type(), static_cast<double>(values[i]));
    if (bits == 16) {
      tensor.mutable_data<uint16_t>()[i] = raw;
    } else if (bits == 8) {
      tensor.mutable_data<uint8_t>()[i] = static_cast<uint8_t>(raw);
    } else {
      WritePacked(tensor.mutable_data<uint8_t>(), static_cast<int64_t>(i), bits, raw);
    }
  }
}

template <typename In>
void WriteIntegers(Tensor& tensor, absl::Span<const In> values) {
  const int bits = BitWidth(tensor.type());
  for (size_t i = 0; i < values.size(); ++i) {
    const uint64_t raw = BitsOf(values[i]);
    switch (bits) {
      case 8:
        tensor.mutable_data<uint8_t>()[i] = static_cast<uint8_t>(raw);
        break;
      case 16:
        tensor.mutable_data<uint16_t>()[i] = static_cast<uint16_t>(raw);
        break;
      case 32:
        tensor.mutable_data<uint32_t>()[i] = static_cast<uint32_t>(raw);
        break;
      case 64:
        tensor.mutable_data<uint64_t>()[i] = raw;
        break;
      default:
        WritePacked(tensor.mutable_data<uint8_t>(), static_cast<int64_t>(i), bits, raw);
        break;
    }
  }
}

template <typename In>
absl::StatusOr<Tensor> FromNumbers(DataType type, absl::Span<const int64_t> shape,
                                   absl::Span<const In> values, Allocator& allocator) {
  ATTNRUN_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(type, shape, allocator));
  if (tensor.num_elements() != static_cast<int64_t>(values.size())) {
    return absl::InvalidArgumentError(
        absl::StrCat("shape ", ToString(shape), " does not hold ", values.size(), " elements"));
  }
  if (type == DataType::kFloat) {
    for (size_t i = 0; i < values.size(); ++i) {
      tensor.mutable_data<float>()[i] = static_cast<float>(values[i]);
    }
  } else if (type == DataType::kDouble) {
    for (size_t i = 0; i < values.size(); ++i) {
      tensor.mutable_data<double>()[i] = static_cast<double>(values[i]);
    }
  } else if (type == DataType::kBool) {
    for (size_t i = 0; i < values.size(); ++i) tensor.mutable_data<bool>()[i] = values[i] != 0;
  } else if (IsFloatingPoint(type)) {
    WriteFloats(tensor, values);
  } else if (IsInteger(type)) {
    WriteIntegers(tensor, values);
  } else {
    return absl::InvalidArgumentError(
        absl::StrCat("numbers cannot be stored as ", Name(type), " here"));
  }
  return tensor;
}

}  // namespace

absl::StatusOr<std::vector<double>> ToDoubles(const Tensor& tensor) {
  if (tensor.type() == DataType::kFloat) return Convert<float, double>(tensor);
  if (tensor.type() == DataType::kDouble) return Convert<double, double>(tensor);
  if (IsFloatingPoint(tensor.type())) return DecodeFloats(tensor);
  return ConvertNative<double>(tensor);
}

absl::StatusOr<std::vector<int64_t>> ToInts(const Tensor& tensor) {
  return ConvertNative<int64_t>(tensor);
}

absl::StatusOr<std::vector<std::complex<double>>> ToComplex(const Tensor& tensor) {
  if (tensor.type() == DataType::kComplex64) {
    return Convert<std::complex<float>, std::complex<double>>(tensor);
  }
  if (tensor.type() == DataType::kComplex128) {
    return Convert<std::complex<double>, std::complex<double>>(tensor);
  }
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> reals, ToDoubles(tensor));
  return std::vector<std::complex<double>>(reals.begin(), reals.end());
}

absl::StatusOr<std::vector<std::string>> ToStrings(const Tensor& tensor) {
  if (tensor.type() != DataType::kString) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected a tensor of string, but found ", TypeAndShape(tensor)));
  }
  return Convert<std::string, std::string>(tensor);
}

absl::StatusOr<Tensor> FromDoubles(DataType type, absl::Span<const int64_t> shape,
                                   absl::Span<const double> values, Allocator& allocator) {
  return FromNumbers(type, shape, values, allocator);
}

absl::StatusOr<Tensor> FromInts(DataType type, absl::Span<const int64_t> shape,
                                absl::Span<const int64_t> values, Allocator& allocator) {
  return FromNumbers(type, shape, values, allocator);
}

absl::StatusOr<Tensor> FromComplex(DataType type, absl::Span<const int64_t> shape,
                                   absl::Span<const std::complex<double>> values,
                                   Allocator& allocator) {
  ATTNRUN_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(type, shape, allocator));
  if (tensor.num_elements() != static_cast<int64_t>(values.size())) {
    return absl::InvalidArgumentError(
        absl::StrCat("shape ", ToString(shape), " does not hold ", values.size(), " elements"));
  }
  if (type == DataType::kComplex128) {
    std::copy(values.begin(), values.end(), tensor.mutable_data<std::complex<double>>());
  } else if (type == DataType::kComplex64) {
    for (size_t i = 0; i < values.size(); ++i) {
      tensor.mutable_data<std::complex<float>>()[i] = std::complex<float>(values[i]);
    }
  } else {
    return absl::InvalidArgumentError(
        absl::StrCat("complex numbers cannot be stored as ", Name(type)));
  }
  return tensor;
}

}  // namespace attnrun

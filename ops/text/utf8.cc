// SPDX-License-Identifier: Apache-2.0
#include "ops/text/utf8.h"

#include <clocale>
#include <cstdint>
#include <cwctype>

#include "absl/strings/str_cat.h"

namespace attnrun::ops {
namespace {

struct CodePoint {
  uint32_t value;
  // Bytes; 0 if they are no code point.
  size_t length;
};

CodePoint Decode(absl::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return {first, 1};
  const size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC0 || first >= 0xF8 || text.size() < length) return {0, 0};
  uint32_t value = first & (0x7FU >> length);
  for (size_t i = 1; i < length; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xC0U) != 0x80) return {0, 0};
    value = value << 6 | (byte & 0x3FU);
  }
  return {value, length};
}

void Append(uint32_t value, std::string& text) {
  if (value < 0x80) {
    text += static_cast<char>(value);
    return;
  }
  const int rest = value < 0x800 ? 1 : value < 0x10000 ? 2 : 3;
  constexpr unsigned char kHeads[] = {0, 0xC0, 0xE0, 0xF0};
  text += static_cast<char>(kHeads[rest] | value >> (6 * rest));
  for (int i = rest - 1; i >= 0; --i) {
    text += static_cast<char>(0x80U | (value >> (6 * i) & 0x3FU));
  }
}

// The locale of the C library that knows Unicode, whatever the program's is.
locale_t Unicode() {
  static const locale_t locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  return locale;
}

template <typename Change>
std::string Changed(absl::string_view text, Change change) {
  std::string result;
  while (!text.empty()) {
    const CodePoint point = Decode(text);
    const bool letter = point.length == 1 || (point.length > 1 && Unicode() != nullptr);
    const size_t length = point.length == 0 ? 1 : point.length;
    if (letter) {
      Append(static_cast<uint32_t>(change(static_cast<wint_t>(point.value))), result);
    } else {
      absl::StrAppend(&result, text.substr(0, length));
    }
    text.remove_prefix(length);
  }
  return result;
}

}  // namespace

std::string LowerCase(absl::string_view text) {
  return Changed(text, [](wint_t c) {
    return Unicode() == nullptr ? std::towlower(c) : towlower_l(c, Unicode());
  });
}

std::string UpperCase(absl::string_view text) {
  return Changed(text, [](wint_t c) {
    return Unicode() == nullptr ? std::towupper(c) : towupper_l(c, Unicode());
  });
}

}  // namespace attnrun::ops

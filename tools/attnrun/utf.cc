// SPDX-License-Identifier: Apache-2.0
#include "tools/attnrun/utf.h"

#include <algorithm>

#include "absl/strings/escaping.h"

namespace attnrun::cli {
namespace {

constexpr char32_t kLargest = 0x10FFFF;

bool IsScalar(char32_t c) { return c <= kLargest && (c < 0xD800 || c > 0xDFFF); }

// Length in bytes of the sequence that begins with `lead`; 0 if none can.
int SequenceLength(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead < 0xC2) return 0;
  if (lead < 0xE0) return 2;
  if (lead < 0xF0) return 3;
  return lead < 0xF5 ? 4 : 0;
}

void AppendUtf8(char32_t c, std::string& out) {
  const int length = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
  constexpr unsigned char kLeads[] = {0, 0, 0xC0, 0xE0, 0xF0};
  out += static_cast<char>(kLeads[length] | c >> (6 * (length - 1)));
  for (int i = length - 2; i >= 0; --i) out += static_cast<char>(0x80 | (c >> (6 * i) & 0x3F));
}

}  // namespace

std::optional<std::string> ToUtf8(const std::u32string& text) {
  std::string result;
  for (const char32_t c : text) {
    if (!IsScalar(c)) return std::nullopt;
    AppendUtf8(c, result);
  }
  return result;
}

std::optional<std::u32string> FromUtf8(absl::string_view text) {
  constexpr char32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  std::u32string result;
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const int length = SequenceLength(lead);
    if (length == 0 || text.size() - i < static_cast<size_t>(length)) return std::nullopt;
    char32_t c = length == 1 ? lead : lead & (0xFF >> (length + 1));
    for (int k = 1; k < length; ++k) {
      const auto next = static_cast<unsigned char>(text[i + k]);
      if ((next & 0xC0) != 0x80) return std::nullopt;
      c = c << 6 | (next & 0x3F);
    }
    if (!IsScalar(c) || c < kSmallest[length]) return std::nullopt;
    result += c;
    i += length;
  }
  return result;
}

std::string Printable(absl::string_view text) {
  const std::optional<std::u32string> decoded = FromUtf8(text);
  if (!decoded.has_value()) return absl::CHexEscape(text);
  // Excludes C0 and C1 controls and DEL, so that names in a model cannot control the terminal.
  const bool plain = std::all_of(decoded->begin(), decoded->end(),
                                 [](char32_t c) { return c >= 0x20 && (c < 0x7F || c > 0x9F); });
  return plain ? std::string(text) : absl::Utf8SafeCHexEscape(text);
}

}  // namespace attnrun::cli

// SPDX-License-Identifier: Apache-2.0
#include "tools/attnrun/npy_header.h"

#include <array>
#include <cctype>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "core/status.h"

namespace attnrun::cli {
namespace {

constexpr absl::string_view kMagic("\x93NUMPY", 6);
// More than the 10,000 bytes that NumPy itself accepts by default.
constexpr uint32_t kLongestHeader = 65536;
constexpr size_t kAlignment = 64;

absl::Status Malformed(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("the .npy header is malformed: ", what));
}

// The header is a Python dictionary literal with three known keys.
class HeaderParser {
 public:
  explicit HeaderParser(absl::string_view text) : text_(text) {}

  absl::StatusOr<NpyHeader> Parse() {
    ATTNRUN_RETURN_IF_ERROR(Expect('{'));
    while (!Accept('}')) {
      ATTNRUN_ASSIGN_OR_RETURN(const std::string key, String());
      ATTNRUN_RETURN_IF_ERROR(Expect(':'));
      ATTNRUN_RETURN_IF_ERROR(Entry(key));
      if (Accept(',')) continue;
      ATTNRUN_RETURN_IF_ERROR(Expect('}'));
      break;
    }
    if (!has_descr_ || !has_order_ || !has_shape_) {
      return Malformed("it lacks 'descr', 'fortran_order' or 'shape'");
    }
    return header_;
  }

 private:
  void SkipSpace() { text_ = absl::StripLeadingAsciiWhitespace(text_); }

  bool Accept(char c) {
    SkipSpace();
    if (text_.empty() || text_[0] != c) return false;
    text_.remove_prefix(1);
    return true;
  }

  absl::Status Expect(char c) {
    if (Accept(c)) return absl::OkStatus();
    return Malformed(absl::StrCat("expected '", std::string(1, c), "', but found ",
                                  text_.empty() ? "the end" : "something else"));
  }

  absl::StatusOr<std::string> String() {
    SkipSpace();
    const char quote = text_.empty() ? '\0' : text_[0];
    if (quote != '\'' && quote != '"') return Malformed("expected a quoted string");
    const size_t end = text_.find(quote, 1);
    if (end == absl::string_view::npos) return Malformed("a string does not end");
    std::string value(text_.substr(1, end - 1));
    text_.remove_prefix(end + 1);
    return value;
  }

  absl::Status Entry(absl::string_view key) {
    if (key == "descr") return Descr();
    if (key == "fortran_order") return FortranOrder();
    if (key == "shape") return ReadShape();
    return Malformed(absl::StrCat("unknown key '", key, "'"));
  }

  absl::Status Descr() {
    SkipSpace();
    if (absl::StartsWith(text_, "[")) {
      return absl::InvalidArgumentError("expected a plain array, but found a structured dtype");
    }
    ATTNRUN_ASSIGN_OR_RETURN(const std::string descr, String());
    ATTNRUN_ASSIGN_OR_RETURN(header_.element, ParseDescr(descr));
    has_descr_ = true;
    return absl::OkStatus();
  }

  absl::Status FortranOrder() {
    SkipSpace();
    header_.fortran_order = absl::ConsumePrefix(&text_, "True");
    if (!header_.fortran_order && !absl::ConsumePrefix(&text_, "False")) {
      return Malformed("fortran_order is neither True nor False");
    }
    has_order_ = true;
    return absl::OkStatus();
  }

  absl::Status ReadShape() {
    header_.shape.clear();
    ATTNRUN_RETURN_IF_ERROR(Expect('('));
    while (!Accept(')')) {
      SkipSpace();
      size_t digits = 0;
      while (digits < text_.size() && std::isdigit(static_cast<unsigned char>(text_[digits]))) {
        ++digits;
      }
      int64_t extent = 0;
      if (!absl::SimpleAtoi(text_.substr(0, digits), &extent)) {
        return Malformed("an extent of the shape is not a number from 0 to 2^63-1");
      }
      header_.shape.push_back(extent);
      text_.remove_prefix(digits);
      // Python 2 marked long integers with an L.
      Accept('L');
      if (Accept(',')) continue;
      ATTNRUN_RETURN_IF_ERROR(Expect(')'));
      break;
    }
    has_shape_ = true;
    return absl::OkStatus();
  }

  absl::string_view text_;
  NpyHeader header_;
  bool has_descr_ = false;
  bool has_order_ = false;
  bool has_shape_ = false;
};

// The length of the dictionary: a little-endian number of 2 bytes (version 1) or 4 bytes.
absl::StatusOr<uint32_t> ReadHeaderLength(ByteSource& source, int version) {
  std::array<unsigned char, 4> bytes = {};
  ATTNRUN_RETURN_IF_ERROR(source.Read(bytes.data(), version == 1 ? 2 : 4));
  const uint32_t length =
      bytes[0] | uint32_t{bytes[1]} << 8 | uint32_t{bytes[2]} << 16 | uint32_t{bytes[3]} << 24;
  if (length <= kLongestHeader) return length;
  return Malformed(absl::StrCat("expected at most ", kLongestHeader, " bytes, but found ", length));
}

}  // namespace

absl::StatusOr<NpyHeader> ReadNpyHeader(ByteSource& source) {
  std::string start(kMagic.size() + 2, '\0');
  if (!source.Read(start.data(), start.size()).ok() || !absl::StartsWith(start, kMagic)) {
    return absl::InvalidArgumentError("is not an .npy file: it does not begin with \\x93NUMPY");
  }
  const int version = static_cast<unsigned char>(start[kMagic.size()]);
  if (version < 1 || version > 3) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected .npy format version 1, 2 or 3, but found ", version));
  }
  ATTNRUN_ASSIGN_OR_RETURN(const uint32_t length, ReadHeaderLength(source, version));
  std::string text(length, '\0');
  ATTNRUN_RETURN_IF_ERROR(source.Read(text.data(), text.size()));
  return HeaderParser(text).Parse();
}

std::string FormatNpyHeader(absl::string_view descr, absl::Span<const int64_t> shape) {
  std::string text = absl::StrCat("{'descr': '", descr, "', 'fortran_order': False, 'shape': (");
  // A Python tuple of one element needs its comma.
  for (const int64_t extent : shape) absl::StrAppend(&text, extent, ", ");
  absl::StrAppend(&text, "), }");
  const int version = text.size() + kAlignment < 65535 ? 1 : 2;
  const size_t before = kMagic.size() + 2 + (version == 1 ? 2 : 4);
  const size_t used = before + text.size() + 1;
  text.append((kAlignment - used % kAlignment) % kAlignment, ' ');
  text += '\n';
  std::string header(kMagic);
  header += static_cast<char>(version);
  header += '\0';
  for (size_t shift = 0; shift < 8 * (before - kMagic.size() - 2); shift += 8) {
    header += static_cast<char>(text.size() >> shift & 0xFF);
  }
  return header + text;
}

}  // namespace attnrun::cli

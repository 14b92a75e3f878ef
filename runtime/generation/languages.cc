// SPDX-License-Identifier: Apache-2.0
#include "generation/languages.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace attnrun::gen {
namespace {

// The names by which Whisper knows languages, in the order of their letters, and the codes in its
// tokens.
constexpr std::pair<absl::string_view, absl::string_view> kCodes[] = {
    {"afrikaans", "af"},   {"albanian", "sq"},   {"amharic", "am"},
    {"arabic", "ar"},      {"armenian", "hy"},   {"assamese", "as"},
    {"azerbaijani", "az"}, {"bashkir", "ba"},    {"basque", "eu"},
    {"belarusian", "be"},  {"bengali", "bn"},    {"bosnian", "bs"},
    {"breton", "br"},      {"bulgarian", "bg"},  {"burmese", "my"},
    {"cantonese", "yue"},  {"castilian", "es"},  {"catalan", "ca"},
    {"chinese", "zh"},     {"croatian", "hr"},   {"czech", "cs"},
    {"danish", "da"},      {"dutch", "nl"},      {"english", "en"},
    {"estonian", "et"},    {"faroese", "fo"},    {"finnish", "fi"},
    {"flemish", "nl"},     {"french", "fr"},     {"galician", "gl"},
    {"georgian", "ka"},    {"german", "de"},     {"greek", "el"},
    {"gujarati", "gu"},    {"haitian", "ht"},    {"haitian creole", "ht"},
    {"hausa", "ha"},       {"hawaiian", "haw"},  {"hebrew", "he"},
    {"hindi", "hi"},       {"hungarian", "hu"},  {"icelandic", "is"},
    {"indonesian", "id"},  {"italian", "it"},    {"japanese", "ja"},
    {"javanese", "jw"},    {"kannada", "kn"},    {"kazakh", "kk"},
    {"khmer", "km"},       {"korean", "ko"},     {"lao", "lo"},
    {"latin", "la"},       {"latvian", "lv"},    {"letzeburgesch", "lb"},
    {"lingala", "ln"},     {"lithuanian", "lt"}, {"luxembourgish", "lb"},
    {"macedonian", "mk"},  {"malagasy", "mg"},   {"malay", "ms"},
    {"malayalam", "ml"},   {"maltese", "mt"},    {"mandarin", "zh"},
    {"maori", "mi"},       {"marathi", "mr"},    {"moldavian", "ro"},
    {"moldovan", "ro"},    {"mongolian", "mn"},  {"myanmar", "my"},
    {"nepali", "ne"},      {"norwegian", "no"},  {"nynorsk", "nn"},
    {"occitan", "oc"},     {"panjabi", "pa"},    {"pashto", "ps"},
    {"persian", "fa"},     {"polish", "pl"},     {"portuguese", "pt"},
    {"punjabi", "pa"},     {"pushto", "ps"},     {"romanian", "ro"},
    {"russian", "ru"},     {"sanskrit", "sa"},   {"serbian", "sr"},
    {"shona", "sn"},       {"sindhi", "sd"},     {"sinhala", "si"},
    {"sinhalese", "si"},   {"slovak", "sk"},     {"slovenian", "sl"},
    {"somali", "so"},      {"spanish", "es"},    {"sundanese", "su"},
    {"swahili", "sw"},     {"swedish", "sv"},    {"tagalog", "tl"},
    {"tajik", "tg"},       {"tamil", "ta"},      {"tatar", "tt"},
    {"telugu", "te"},      {"thai", "th"},       {"tibetan", "bo"},
    {"turkish", "tr"},     {"turkmen", "tk"},    {"ukrainian", "uk"},
    {"urdu", "ur"},        {"uzbek", "uz"},      {"valencian", "ca"},
    {"vietnamese", "vi"},  {"welsh", "cy"},      {"yiddish", "yi"},
    {"yoruba", "yo"},
};

}  // namespace

absl::string_view LanguageCode(absl::string_view name) {
  const auto* const found =
      std::lower_bound(std::begin(kCodes), std::end(kCodes), name,
                       [](const auto& entry, absl::string_view key) { return entry.first < key; });
  return found != std::end(kCodes) && found->first == name ? found->second : name;
}

}  // namespace attnrun::gen

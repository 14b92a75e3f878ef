// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_GENERATION_LANGUAGES_H_
#define ATTNRUN_GENERATION_LANGUAGES_H_

#include "absl/strings/string_view.h"

namespace attnrun::gen {

// The code of a language that Whisper knows, as "de" of "german"; `name` itself if it is none.
absl::string_view LanguageCode(absl::string_view name);

}  // namespace attnrun::gen

#endif  // ATTNRUN_GENERATION_LANGUAGES_H_

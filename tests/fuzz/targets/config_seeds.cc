// SPDX-License-Identifier: Apache-2.0
#include "fuzz/targets/config_seeds.h"

#include "absl/strings/str_cat.h"
#include "fuzz/targets/seeds.h"

namespace attnrun::testing {

void WriteSeeds(const std::filesystem::path& folder) {
  int count = 0;
  for (const char* text : kConfigSeeds) WriteSeed(folder / absl::StrCat("config", count++), text);
}

}  // namespace attnrun::testing

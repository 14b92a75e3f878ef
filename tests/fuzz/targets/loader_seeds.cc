// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "fuzz/targets/capi_models.h"
#include "fuzz/targets/seeds.h"

namespace attnrun::testing {

void WriteSeeds(const std::filesystem::path& folder) {
  int count = 0;
  for (const std::string& model : CapiModels()) {
    WriteSeed(folder / absl::StrCat("small", count++), model);
  }
}

}  // namespace attnrun::testing

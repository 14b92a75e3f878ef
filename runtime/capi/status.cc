// SPDX-License-Identifier: Apache-2.0
#include "status.h"

#include "absl/strings/str_cat.h"

namespace attnrun::capi {

attnrun_status* OutOfMemory() {
  // Short enough to be held in the string itself.
  static attnrun_status status = {ATTNRUN_RESOURCE_EXHAUSTED, "out of memory"};
  return &status;
}

attnrun_status* NewStatus(const absl::Status& status) {
  if (status.ok()) return nullptr;
  return new attnrun_status{static_cast<attnrun_code>(status.raw_code()),
                            std::string(status.message())};
}

absl::Status IsNull(absl::string_view parameter) {
  return absl::InvalidArgumentError(absl::StrCat(parameter, " is NULL"));
}

}  // namespace attnrun::capi

using attnrun::capi::OutOfMemory;

const char* attnrun_version() { return ATTNRUN_VERSION; }

attnrun_code attnrun_status_code(const attnrun_status* status) {
  return status == nullptr ? ATTNRUN_OK : status->code;
}

const char* attnrun_status_message(const attnrun_status* status) {
  return status == nullptr ? "" : status->message.c_str();
}

void attnrun_status_free(attnrun_status* status) {
  if (status != OutOfMemory()) delete status;
}

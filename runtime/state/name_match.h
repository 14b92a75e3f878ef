// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_STATE_NAME_MATCH_H_
#define ATTNRUN_STATE_NAME_MATCH_H_

#include "absl/strings/string_view.h"

namespace attnrun::state {

// True if the names of an input and an output differ only in words that tell old from new, as
// "past_key_values.0.key" and "present.0.key", "cache_k" and "new_cache_k", "state" and "stateN".
bool NamesMatch(absl::string_view input, absl::string_view output);

}  // namespace attnrun::state

#endif  // ATTNRUN_STATE_NAME_MATCH_H_

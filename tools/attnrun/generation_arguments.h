// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TOOLS_ATTNRUN_GENERATION_ARGUMENTS_H_
#define ATTNRUN_TOOLS_ATTNRUN_GENERATION_ARGUMENTS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "attnrun/generation_config.h"

namespace attnrun::cli {

// The options of `attnrun generate`.
struct GenerationArguments {
  // --prompt-ids and --encoder-ids, in order.
  std::vector<TokenIds> prompts;
  std::vector<TokenIds> encoder_ids;
  // --prompt-ids-file; may be empty.
  std::string prompts_file;
  // --generation-config; may be empty.
  std::string config_file;
  // Settings by their names in transformers, and their values as JSON.
  std::map<std::string, std::string> settings;
  bool ignore_eos = false;
  // --draft; may be empty.
  std::string draft;
  // --stream.
  bool streams = false;
  // --top-candidates.
  int64_t top_candidates = 0;

  // The settings as a JSON object.
  std::string SettingsJson() const;
};

}  // namespace attnrun::cli

#endif  // ATTNRUN_TOOLS_ATTNRUN_GENERATION_ARGUMENTS_H_

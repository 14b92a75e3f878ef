// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_CAPI_MODEL_INFO_H_
#define ATTNRUN_CAPI_MODEL_INFO_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "attnrun/c.h"
#include "attnrun/model_info.h"

struct attnrun_value_info {
  attnrun::ValueInfo info;
};

struct attnrun_model_info {
  attnrun_model_info(const std::vector<attnrun::ValueInfo>& declared_inputs,
                     const std::vector<attnrun::ValueInfo>& declared_outputs,
                     const std::map<std::string, std::string>& notes);

  std::vector<attnrun_value_info> inputs;
  std::vector<attnrun_value_info> outputs;
  std::vector<std::pair<std::string, std::string>> metadata;
};

#endif  // ATTNRUN_CAPI_MODEL_INFO_H_

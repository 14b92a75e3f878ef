// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_RUNTIME_TASK_MAKER_H_
#define ATTNRUN_RUNTIME_TASK_MAKER_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "attnrun/generation_config.h"
#include "attnrun/generator.h"
#include "attnrun/model_info.h"
#include "attnrun/run_options.h"
#include "attnrun/tensor.h"
#include "generation/scheduler.h"
#include "generator_model.h"

namespace attnrun {

// Makes of requests what the scheduler runs: checks them, runs the encoder, and completes the ids
// that the decoder starts with.
class TaskMaker {
 public:
  // `model` must outlive it and the tasks.
  explicit TaskMaker(const GeneratorModel& model);

  const std::vector<ValueInfo>& encoder_inputs() const { return encoder_inputs_; }

  absl::StatusOr<gen::Task> Make(const GenerationRequest& request, const GenerationConfig& config,
                                 const RunOptions& run) const;

 private:
  absl::StatusOr<TensorMap> Encoded(const GenerationRequest& request,
                                    const GenerationConfig& config, const RunOptions& run) const;
  absl::StatusOr<TokenIds> FirstIds(const TokenIds& given, const GenerationConfig& config,
                                    const TensorMap& encoded, const RunOptions& run) const;
  absl::StatusOr<int64_t> Language(int64_t start, const GenerationConfig& config,
                                   const TensorMap& encoded, const RunOptions& run) const;
  absl::StatusOr<int64_t> MaxLength(int64_t length, const GenerationConfig& config) const;

  const GeneratorModel& model_;
  const ModelSessions& sessions_;
  std::vector<ValueInfo> encoder_inputs_;
};

}  // namespace attnrun

#endif  // ATTNRUN_RUNTIME_TASK_MAKER_H_

// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TOOLS_ATTNRUN_DIM_SIZES_H_
#define ATTNRUN_TOOLS_ATTNRUN_DIM_SIZES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "attnrun/model_info.h"
#include "attnrun/tensor.h"

namespace attnrun::cli {

// The extents of generated inputs. What --dim or a given input says of a symbolic dimension holds
// for all inputs; for the rest there are defaults, by the dimension's name where exporters use it
// consistently: batch 1, past lengths 0, sequences 16, images 3x224x224, a total the sum of its
// parts, waveforms 4,000 samples, speech features 3,000 frames.
class DimSizes {
 public:
  static constexpr int64_t kLargest = int64_t{1} << 40;

  // `inputs` must outlive this.
  explicit DimSizes(const std::vector<ValueInfo>& inputs) : inputs_(inputs) {}

  // --dim; at most kLargest. kInvalidArgument if no input has a dimension of that name.
  absl::Status Set(const std::string& symbol, int64_t extent);

  // Takes over the extents of an input that was given; where inputs contradict each other, the
  // session says so. kInvalidArgument where Set said otherwise.
  absl::Status Bind(const ValueInfo& info, const Tensor& tensor);

  // The extent of an axis. Precondition: info.shape has it.
  int64_t Extent(const ValueInfo& info, int axis);

  // The length of the key-value cache that the model is fed, 0 if it is fed none.
  int64_t PastLength();

 private:
  int64_t OfSymbol(const std::string& symbol, const ValueInfo& info, int axis);
  int64_t ByName(const std::string& symbol, const ValueInfo& info, int axis);
  int64_t OfSum(const std::string& symbol);
  // The extent of the first input dimension whose name passes `test`, if there is one.
  template <typename Test>
  std::optional<int64_t> OfFirst(Test test);

  const std::vector<ValueInfo>& inputs_;
  std::map<std::string, int64_t> extents_;
  // Those that Set gave.
  std::set<std::string> set_;
};

}  // namespace attnrun::cli

#endif  // ATTNRUN_TOOLS_ATTNRUN_DIM_SIZES_H_

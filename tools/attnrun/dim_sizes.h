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

// Extents of generated inputs of which nothing else is known.
struct DefaultExtents {
  int64_t batch = 1;
  int64_t sequence = 16;
  int64_t image_side = 224;
  int64_t samples = 4000;
  int64_t frames = 3000;
};

// The extents of generated inputs. --dim, or an input that is given, fixes a symbolic dimension for
// all inputs. The others have defaults, by name where exporters name them consistently: batch 1,
// past lengths 0, sequences 16, images 3x224x224, latents and feature maps 64x64, totals the sum of
// their parts, waveforms 4,000 samples, speech features 3,000 frames. An axis without a name is
// called "x[1]": axis 1 of input x.
class DimSizes {
 public:
  static constexpr int64_t kLargest = int64_t{1} << 40;

  // `inputs` must outlive this.
  explicit DimSizes(const std::vector<ValueInfo>& inputs, const DefaultExtents& defaults = {})
      : inputs_(inputs), defaults_(defaults) {}

  // Sets an extent, as --dim does; at most kLargest. kInvalidArgument if no input has that
  // dimension.
  absl::Status Set(const std::string& symbol, int64_t extent);

  // Takes the extents of a given input. kInvalidArgument if they contradict Set. If inputs
  // contradict each other, the session reports it.
  absl::Status Bind(const ValueInfo& info, const Tensor& tensor);

  // The extent of an axis. Precondition: info.shape has it.
  int64_t Extent(const ValueInfo& info, int axis);
  // True if the extent of an axis is not a default.
  bool IsFixed(const ValueInfo& info, int axis) const;
  // Changes extents that are not fixed to those of a shape of the input.
  void Fit(const ValueInfo& info, const Shape& shape);

  // The length of the key-value cache among the inputs; 0 if there is none.
  int64_t PastLength();

 private:
  int64_t ByPlace(const ValueInfo& info, int axis) const;
  int64_t SideOf(const ValueInfo& image) const;
  int64_t OfSymbol(const std::string& symbol, const ValueInfo& info, int axis);
  int64_t ByName(const std::string& symbol, const ValueInfo& info, int axis);
  int64_t OfSum(const std::string& symbol);
  // The extent of the first input dimension whose name passes `test`, if there is one.
  template <typename Test>
  std::optional<int64_t> OfFirst(Test test);

  const std::vector<ValueInfo>& inputs_;
  const DefaultExtents defaults_;
  std::map<std::string, int64_t> extents_;
  // The symbols that Set has fixed, and those that Set or Bind has.
  std::set<std::string> set_;
  std::set<std::string> fixed_;
};

}  // namespace attnrun::cli

#endif  // ATTNRUN_TOOLS_ATTNRUN_DIM_SIZES_H_

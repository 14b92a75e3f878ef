// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_FIT_INPUTS_H_
#define ATTNRUN_FIT_INPUTS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "attnrun/export.h"
#include "attnrun/tensor.h"

namespace attnrun {

// The shape that a caller who makes up an input would choose.
struct ProposedInput {
  Shape shape;
  // By axis: true if its extent must stay. Missing entries are false.
  std::vector<bool> is_fixed;
};

// A shape and contents with which a run is likely to succeed.
struct FittedInput {
  Shape shape;
  // If at least 0: the input's integers are used as indices, or counts, and must be below this.
  int64_t index_limit = -1;
  // The input masks where it is true (other than 0): false everywhere leaves all keys unmasked.
  bool masks_where_true = false;
};

// Fits made-up inputs to a model, to try it, measure it or warm it up without data. From the graph
// follow conditions on the extents of the inputs: operands that must have equal extents or
// broadcast, windows that must fit, tables of positions that must be long enough. Fit may be called
// from many threads at once.
class ATTNRUN_EXPORT InputFitter {
 public:
  // Reads the conditions of an .onnx file. Errors as in InspectModel.
  static absl::StatusOr<InputFitter> Load(const std::string& path);

  InputFitter(InputFitter&&) noexcept;
  InputFitter& operator=(InputFitter&&) noexcept;
  ~InputFitter();

  // The nearest extents found that meet most of the conditions, which is no promise that a run
  // succeeds. Dimensions of one name get one extent. `proposed` has the inputs by name; those that
  // the model lacks are ignored.
  std::map<std::string, FittedInput> Fit(
      const std::map<std::string, ProposedInput>& proposed) const;

 private:
  class Impl;
  explicit InputFitter(std::unique_ptr<const Impl> impl);
  std::unique_ptr<const Impl> impl_;
};

}  // namespace attnrun

#endif  // ATTNRUN_FIT_INPUTS_H_

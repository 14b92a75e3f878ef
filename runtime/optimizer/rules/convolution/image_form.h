// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_CONVOLUTION_IMAGE_FORM_H_
#define ATTNRUN_OPTIMIZER_RULES_CONVOLUTION_IMAGE_FORM_H_

#include <functional>
#include <optional>
#include <vector>

#include "optimizer/rewrite/patch.h"

namespace attnrun::opt {

// How a node that works on images [N, C, ..] works on images [N, .., C].
struct ImageForm {
  // The inputs and outputs that are images; inputs may be constants.
  std::vector<int> inputs;
  std::vector<int> outputs;
  // The outputs of the node's operator, or of another that does the same, on channels last. `given`
  // has the node's inputs with images rearranged.
  std::function<std::vector<Value*>(Patch& patch, std::vector<Value*> given)> write;
};

// nullopt if the node cannot take images whose channels are last. `facts` must outlive the form.
std::optional<ImageForm> ImageFormOf(const Node& node, Facts& facts);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_CONVOLUTION_IMAGE_FORM_H_

// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_SESSION_H_
#define ATTNRUN_SESSION_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>
#include "absl/strings/string_view.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "attnrun/model_info.h"
#include "attnrun/rewrite.h"
#include "attnrun/run_options.h"
#include "attnrun/tensor.h"

namespace attnrun {

enum class Engine {
  // Rewrites and kernels.
  kOptimized,
  // Kernels on the graph as exported.
  kUnoptimized,
  // The naive interpreter on the graph as exported: what the others are compared against. Slow.
  kReference,
};

struct SessionOptions {
  Engine engine = Engine::kOptimized;
  // 0: as many as the process may use (affinity and control group respected).
  int threads = 0;
  // Names of optimizer passes to leave out.
  std::vector<std::string> disabled_passes;
  // The last optimizer pass to apply; empty for all of them.
  std::string stop_after;
  // How many rewrites to apply, in the order of Session::Rewrites; -1 for all. What diverges with n
  // of them and not with n - 1 does so because of the n-th.
  int64_t max_rewrites = -1;
  // A directory where Session::Load keeps packed weights, so that the next start maps them instead
  // of packing again; made if need be. Empty: none. What is there is used only for a model of the
  // same contents: they are hashed, and not again as long as the files have the same inode, size
  // and time. Damaged files are replaced. If something is to be written and cannot be, Load fails;
  // from a directory that cannot be written, what it holds is used all the same. As a model, the
  // files must not be changed in place; those of models deleted or changed are removed in time.
  std::string weight_cache;
};

// A model made ready to run. Cheap to move; Run is safe from many threads at once.
class Session {
 public:
  // Reads an .onnx file, which is mapped and must not change while the session exists. kNotFound or
  // kInvalidArgument for what cannot be read or breaks ONNX's rules, kUnimplemented listing all
  // operators, versions and attributes that attnrun does not cover; messages begin with the path.
  static absl::StatusOr<Session> Load(const std::string& path, const SessionOptions& options = {});

  // As Load, from the bytes of an .onnx file, which must outlive the session. External data is
  // refused, as there is no folder to look for it; `weight_cache` is not used.
  static absl::StatusOr<Session> LoadBytes(absl::string_view bytes,
                                           const SessionOptions& options = {});

  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  // In the model's order, as it declares them; initializers that are also inputs come with
  // has_default set.
  const std::vector<ValueInfo>& inputs() const;
  const std::vector<ValueInfo>& outputs() const;

  // Threads that one run uses: SessionOptions::threads, or what its 0 stood for.
  int threads() const;

  // Runs the model on one tensor per input without default. kInvalidArgument for an unknown or
  // missing name, a wrong element type, rank or extent, two extents for one symbolic dimension, and
  // what the operators refuse; kResourceExhausted, kDeadlineExceeded and kCancelled as their names
  // say. The result holds every graph output under its name.
  absl::StatusOr<TensorMap> Run(const TensorMap& inputs, const RunOptions& options = {}) const;

  // As above, into buffers of the caller: each tensor of `outputs`, by output name, must be mutable
  // and have the result's type and shape, and is filled; its strides stay (Tensor::BorrowMutable,
  // View). An undefined tensor is replaced by the result. Outputs that are not named are dropped.
  // kInvalidArgument also for a name that is no output or a buffer that does not fit. After an
  // error the contents of the buffers are unspecified.
  absl::Status Run(const TensorMap& inputs, TensorMap& outputs,
                   const RunOptions& options = {}) const;

  // Nodes by op type after optimization, as ModelInfo::op_counts.
  std::map<std::string, int64_t> OpCounts() const;

  // What the optimizer did, and what it did not and why, in the order in which it happened.
  const std::vector<Rewrite>& Rewrites() const;

  // The graph after optimization, one node per line, for people to read.
  std::string GraphText() const;

 private:
  class Impl;
  explicit Session(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// What is in an .onnx file, without making it ready to run: models with operators that attnrun does
// not cover are fine. Errors as Session::Load for files that break ONNX's rules.
absl::StatusOr<ModelInfo> InspectModel(const std::string& path);

// A drawing of the model before and after optimization, in the language of Graphviz. Errors as
// Session::Load.
absl::StatusOr<std::string> DrawModel(const std::string& path, const SessionOptions& options = {});

// All operators that attnrun runs, by domain and name.
std::vector<SupportedOp> SupportedOperators();

// What SessionOptions::disabled_passes and stop_after may name, in the order in which they run.
std::vector<std::string> OptimizerPasses();

// Reads a serialized ONNX TensorProto (the .pb files of ONNX test data sets).
absl::StatusOr<Tensor> LoadTensorProto(const std::string& path);

}  // namespace attnrun

#endif  // ATTNRUN_SESSION_H_

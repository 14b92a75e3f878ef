// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_SESSION_H_
#define ATTNRUN_SESSION_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "attnrun/export.h"
#include "attnrun/limits.h"
#include "attnrun/log.h"
#include "attnrun/metrics.h"
#include "attnrun/model_info.h"
#include "attnrun/precision.h"
#include "attnrun/precision_report.h"
#include "attnrun/rewrite.h"
#include "attnrun/run_options.h"
#include "attnrun/state.h"
#include "attnrun/tensor.h"
#include "attnrun/thread_pool.h"
#include "attnrun/version.h"

namespace attnrun {

enum class Engine {
  // The optimizer's rewrites, and optimized kernels.
  kOptimized,
  // Optimized kernels on the graph as exported.
  kUnoptimized,
  // The naive interpreter on the graph as exported. Slow; the baseline for comparisons.
  kReference,
};

// The name of the input that SessionOptions::last_positions_of adds.
inline constexpr char kLastPositions[] = "last_positions";

struct SessionOptions {
  Engine engine = Engine::kOptimized;
  // Lossy unless kFloat32; see Precision. The reference engine always computes as the model is
  // written.
  Precision precision = Precision::kFloat32;
  // True if most runs are short, as those of a decoder that takes one token at a time: weights are
  // then laid out for products of few rows, else for many where the processor tells them apart
  // (docs/precision.md, "Float32 on AMX"). Models that carry values from run to run count as such
  // in any case.
  bool few_rows = false;
  // The most threads of a run, at most 1,024; it has fewer while other runs need them. 0: as many
  // as the process may use by its CPU affinity and control group, or as the pool has. Load fails
  // with kInvalidArgument for more than the pool has.
  int threads = 0;
  // Sessions with the same pool compute on its threads: their runs wait for each other if together
  // they would use more. Without a pool, the runs of this session alone use at most as many threads
  // as the process may use CPUs.
  std::shared_ptr<ThreadPool> thread_pool;
  // Gives the memory of what runs compute, outputs and intermediate values, but for small values;
  // null for Allocator::Heap(), which gives that of weights and states in any case. The session
  // keeps blocks for its next runs, and shares the allocator until the last of them is freed. It
  // must be thread-safe.
  std::shared_ptr<Allocator> allocator;
  // Bounds on the model and on each run.
  Limits limits;
  // Receives what goes wrong without being an error, as a weight cache that cannot be written.
  // Empty: attnrun is silent.
  LogSink log;
  // Names of optimizer passes to skip; Load fails with kInvalidArgument for an unknown name.
  std::vector<std::string> disabled_passes;
  // The last optimizer pass to run; empty for all. Load fails with kInvalidArgument for an unknown
  // name.
  std::string stop_after;
  // The number of rewrites to apply, in the order of Session::Rewrites; -1 for all. To find the
  // rewrite that changes a result, search for the smallest n that shows the change: the n-th
  // rewrite causes it.
  int64_t max_rewrites = -1;
  // Outputs of which a run returns only the last positions along axis 1, such as the logits of a
  // decoder; nothing is computed for the others. The session gets one more input, kLastPositions
  // (int64[1]): how many positions, 1 if it is left out, all if it is 0. Load fails with
  // kInvalidArgument for a name that is no output, and so does Run for a negative number.
  std::vector<std::string> last_positions_of;
  // Inputs whose named extents say nothing of those of other inputs, for a model that gives two
  // lengths one name. Names of no input have no effect.
  std::vector<std::string> anonymous_extents_of;
  // The type in which states hold caches of keys and values that the model declares as float:
  // kFloat, or, lossy, kBfloat16 or kFloat16, which take half the memory and its bandwidth, or
  // kInt8, which takes about a quarter. New positions are rounded before attention reads them, in
  // runs without a state, too. Session::inputs and outputs then have this type for such a cache.
  // With kInt8 its last extent is H + 4 instead of H: each row of H numbers in [-127, 127] has the
  // bytes of its scale, a float, behind it. Concerns caches that are appended to, windows and
  // static ones; others, as those in the branches of an If, stay as they are, and so do, with
  // kInt8, caches whose last axis is that of positions. Load fails with kInvalidArgument for other
  // types.
  DataType cache_type = DataType::kFloat;
  // A directory where Session::Load keeps packed weights, so that the next start maps them instead
  // of packing again. Created if missing; empty for no cache.
  // An entry is used only for a model with the same contents. Load hashes the model's files, and
  // skips that while their inode, size and modification time stay the same. Damaged entries are
  // replaced; entries of deleted or changed models are removed after an hour at the earliest. If
  // Load cannot write, it logs a warning, and the session works all the same. As for a model, the
  // files must not be changed in place.
  std::string weight_cache;
  // Load reads all of the packed weights and compares their checksums also where no time or size
  // tells of a change, as after damage by the disk.
  bool verify_weight_cache = false;
  // If false, Load copies the model's files into memory, so that they may be changed, cut short or
  // removed while the session exists. A session then takes the files' size more memory. Files of
  // the weight cache are mapped all the same.
  bool map_files = true;
};

// Receives the result of a run: see Session::RunAsync.
using RunCallback = std::function<void(absl::StatusOr<TensorMap> outputs)>;

// One of several requests to Session::RunTogether. `state` may be null and must outlive the run.
struct Request {
  TensorMap inputs;
  State* state = nullptr;
};

// A model prepared to run. Cheap to move.
// All const functions may be called from many threads at once; a session that is moved or destroyed
// must be used by no other thread. As many runs proceed as there are CPUs for, with fewer threads
// each the more of them there are; the others wait in order of arrival, and are computed by threads
// of the session instead of their callers'. RunTogether counts as one run.
// Runs may share input tensors, and tensors that share bytes, while none writes to these bytes.
// After fork() a child may use a session that no thread of the parent was running at that moment; a
// Run of any other gives kFailedPrecondition, and the child has to load the model itself.
// When memory runs out, functions that return a status give kResourceExhausted and leave the
// session as it was; the others throw std::bad_alloc.
class ATTNRUN_EXPORT Session {
 public:
  // Reads an .onnx file. The file and its external data stay mapped and must not change while the
  // session exists, unless SessionOptions::map_files is false.
  // kNotFound: the file or its external data is missing. kPermissionDenied: it may not be read.
  // kInvalidArgument: it breaks ONNX's rules. kUnimplemented: lists all operators, versions and
  // attributes that attnrun does not cover. kFailedPrecondition: the processor lacks AVX2 or FMA.
  // kResourceExhausted: the model exceeds SessionOptions::limits, or memory ran out.
  // kAborted: a file changed while it was copied. Messages begin with the path.
  static absl::StatusOr<Session> Load(const std::string& path, const SessionOptions& options = {});

  // As Load, from the bytes of an .onnx file, which must outlive the session. A model with external
  // data is refused, since there is no folder to find it in; `weight_cache` is ignored.
  static absl::StatusOr<Session> LoadBytes(absl::string_view bytes,
                                           const SessionOptions& options = {});

  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  // In the model's order. Initializers that are also inputs have has_default set.
  const std::vector<ValueInfo>& inputs() const;
  const std::vector<ValueInfo>& outputs() const;

  // The model's own notes (ONNX's metadata_props), as in ModelInfo.
  const std::map<std::string, std::string>& metadata() const;

  // The most threads of a run: SessionOptions::threads, with 0 replaced by the actual number.
  int threads() const;

  // Runs the model on one tensor per input; inputs with a default may be left out. The result holds
  // every graph output under its name. kInvalidArgument: an unknown or missing name, a wrong
  // element type, rank or extent, two extents for one symbolic dimension, or operands that an
  // operator rejects. kResourceExhausted, kDeadlineExceeded, kCancelled: see RunOptions.
  // kUnavailable: see Limits::waiting_runs.
  // kFailedPrecondition: an observer runs its own session, or the process was forked while another
  // thread ran it.
  absl::StatusOr<TensorMap> Run(const TensorMap& inputs, const RunOptions& options = {}) const;

  // As above, into the caller's buffers. Each tensor in `outputs` must be mutable and have the type
  // and shape of the result of that name; it is filled and keeps its strides (see
  // Tensor::BorrowMutable and Tensor::View). An undefined tensor is replaced by the result. Outputs
  // that are not named are dropped. Also kInvalidArgument: a name that is no output, or a buffer
  // that does not fit. After an error the contents of the buffers are unspecified.
  absl::Status Run(const TensorMap& inputs, TensorMap& outputs,
                   const RunOptions& options = {}) const;

  // As Run, but returns at once: a thread of the session, or of its pool, computes the run in its
  // turn and calls `done` once with the result. If RunAsync returns an error, such as a wrong input
  // or kUnavailable, `done` is never called. Also kInvalidArgument: options.observer is set, or
  // `done` is empty. Bytes that an input borrows must stay as they are, and what `options` points
  // to must exist, until `done` is called. A cancelled run, or one whose deadline passed while it
  // waited, ends in its turn. The destructor waits for all runs. `done` must not throw, destroy the
  // session, or wait for another run; it may call RunAsync. A Run of this session in it gives
  // kFailedPrecondition.
  absl::Status RunAsync(const TensorMap& inputs, RunCallback done,
                        const RunOptions& options = {}) const;
  // Into the caller's buffers, as the second form of Run; `done` receives these tensors.
  absl::Status RunAsync(const TensorMap& inputs, TensorMap outputs, RunCallback done,
                        const RunOptions& options = {}) const;

  // The values that the model carries from run to run, in the order of the inputs: outputs that are
  // inputs of the next run. Found from the graph; where it does not tell, from the names.
  const std::vector<StateValue>& state_values() const;

  // The state before the first run: appended values and windows hold no positions, and all elements
  // are 0. kInvalidArgument for negative options; kUnimplemented if the model does not state the
  // rank of a value; kResourceExhausted if there is no memory. The session must outlive it.
  absl::StatusOr<State> NewState(const StateOptions& options = {}) const;

  // The bytes that such a state takes, which are those of State::byte_size() until it holds more
  // than options.capacity positions; without kept values and others of open extent, which take what
  // a run gives. Errors as in NewState, but no memory is taken.
  absl::StatusOr<size_t> StateBytes(const StateOptions& options = {}) const;

  // A state that State::Save has written, for a session of the same model, precision and
  // cache_type. `capacity` as in StateOptions. kInvalidArgument if the file is damaged, not a saved
  // state, or one of another model, precision, cache_type or format; kNotFound, kPermissionDenied,
  // kResourceExhausted. Messages begin with the path. The next runs give the bits that they would
  // have given without it.
  absl::StatusOr<State> LoadState(const std::string& path, int64_t capacity = 0) const;

  // One step: runs the model on `inputs` and the values of the state, which takes those of the next
  // step. `inputs` and the result lack the values that are carried. Appended values grow in place.
  // After an error the state is as before. Errors as in Run; also kInvalidArgument for a state of
  // another session and a carried value among the inputs, kFailedPrecondition if another thread
  // uses the state.
  absl::StatusOr<TensorMap> Run(const TensorMap& inputs, State& state,
                                const RunOptions& options = {}) const;

  // Runs several requests of any lengths at once; results[r] are those of request r, to the bit.
  // Operators that treat each position by itself, as products with weights do, run once on the
  // positions of all requests, so that weights are read once and nothing is padded; the others, as
  // attention, run once per request. Errors as in Run; also kInvalidArgument if options.observer is
  // set. After an error of one request no state has changed.
  absl::StatusOr<std::vector<TensorMap>> RunTogether(absl::Span<const Request> requests,
                                                     const RunOptions& options = {}) const;

  // Measures how far a session of a lower precision is from float32: runs the same optimized graph
  // in both on the same inputs, and compares the outputs and, layer by layer, the kernels. The
  // first call packs the weights a second time, for float32, and the session keeps them. The
  // outputs of all layers are in memory at once. RunOptions::profile and observer are not used; the
  // limits hold for both runs together. Errors as in Run; also kInvalidArgument if the session
  // computes in float32, as SessionOptions::precision or the reference engine say.
  absl::StatusOr<PrecisionReport> MeasurePrecision(const TensorMap& inputs,
                                                   const RunOptions& options = {}) const;

  // The products that a session of a lower precision computes in a precision other than float32,
  // and those that it keeps finer than asked for, with the reason; in the order of execution, those
  // in the bodies of If, Loop and Scan after the node. Empty for float32.
  std::vector<ProductPrecision> ProductPrecisions() const;

  // Number of nodes by op type after optimization, as in ModelInfo::op_counts.
  std::map<std::string, int64_t> OpCounts() const;

  // Counts of the runs so far, and the memory that they use. Takes about a microsecond.
  SessionMetrics Metrics() const;

  // Rewrites applied and near misses, in the order in which the optimizer met them.
  const std::vector<Rewrite>& Rewrites() const;

  // The optimized graph as readable text, one node per line.
  std::string GraphText() const;

 private:
  class Impl;
  explicit Session(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Reads what an .onnx file declares, without preparing it to run. Operators that attnrun does not
// cover are no error; the result lists them. Other errors as in Session::Load, with these limits.
ATTNRUN_EXPORT absl::StatusOr<ModelInfo> InspectModel(const std::string& path,
                                                      const Limits& limits = {});

// A Graphviz drawing of the model before and after optimization. Operators that attnrun does not
// cover are no error. Other errors as in Session::Load.
ATTNRUN_EXPORT absl::StatusOr<std::string> DrawModel(const std::string& path,
                                                     const SessionOptions& options = {});

// All operators that attnrun runs, by domain and name.
ATTNRUN_EXPORT std::vector<SupportedOp> SupportedOperators();

ATTNRUN_EXPORT OpsetRange SupportedOpsets();

// The instruction sets that kernels use on this machine, such as "AVX-512, VNNI, AMX-BF16". The
// environment variable ATTNRUN_MAX_ISA caps them: avx2, avx-vnni, avx512, vnni, bf16 or amx.
ATTNRUN_EXPORT std::string UsedInstructionSets();

// The version of the library in use, such as "0.1.0"; ATTNRUN_VERSION is that of the headers.
ATTNRUN_EXPORT absl::string_view Version();

// The names that SessionOptions::disabled_passes and stop_after accept: first the passes in the
// order in which they run, then earlier names of passes.
ATTNRUN_EXPORT std::vector<std::string> OptimizerPasses();

// The rewrites of the optimizer, in the order in which they run.
ATTNRUN_EXPORT std::vector<PassInfo> DescribePasses();

// Reads a serialized ONNX TensorProto, such as a .pb file of an ONNX test data set. Errors as in
// Session::Load.
ATTNRUN_EXPORT absl::StatusOr<Tensor> LoadTensorProto(const std::string& path);

// As LoadTensorProto, for an input or output: reads a TensorProto, a SequenceProto or an
// OptionalProto of them, as its kind says. An optional without an element gives an undefined
// tensor, and a sequence without tensors gets the type that `info` declares.
ATTNRUN_EXPORT absl::StatusOr<Tensor> LoadValueProto(const std::string& path,
                                                     const ValueInfo& info);

}  // namespace attnrun

#endif  // ATTNRUN_SESSION_H_

// SPDX-License-Identifier: Apache-2.0
#include "execution/together.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/exceptions.h"
#include "core/interrupt.h"
#include "core/parallel.h"
#include "core/status.h"
#include "core/strided.h"
#include "execution/step_run.h"
#include "ops/tensors/strided_copy.h"

namespace attnrun::exec {
namespace {

// The shape of the tensors one behind the other along `axis`; nullopt if they do not fit together.
std::optional<Shape> JoinedShape(absl::Span<const Tensor> parts, int axis) {
  const Tensor& first = parts[0];
  if (!first.defined() || first.is_sequence() || first.type() == DataType::kString) {
    return std::nullopt;
  }
  if (BitWidth(first.type()) < 8 || axis >= first.rank()) return std::nullopt;
  Shape shape = first.shape();
  shape[axis] = 0;
  for (const Tensor& part : parts) {
    if (part.type() != first.type() || part.rank() != first.rank()) return std::nullopt;
    Shape others = part.shape();
    others[axis] = shape[axis];
    if (others != shape) return std::nullopt;
    shape[axis] += part.dim(axis);
  }
  return shape;
}

absl::StatusOr<Tensor> JoinTensors(absl::Span<const Tensor> parts, int axis, const Shape& shape,
                                   Allocator& allocator) {
  ATTNRUN_ASSIGN_OR_RETURN(Tensor joined, Tensor::Allocate(parts[0].type(), shape, allocator));
  const int width = BitWidth(joined.type()) / 8;
  const Shape strides = DenseStrides(shape);
  auto* out = joined.mutable_data<char>();
  for (const Tensor& part : parts) {
    if (part.num_elements() == 0) continue;
    ops::CopyStrided(width, part.shape(), part.raw(), ops::StridesOf(part), out, strides);
    out += part.dim(axis) * strides[axis] * width;
  }
  return joined;
}

// One run of a plan for several requests. A value is a tensor of all requests in the frame
// `joined_`, or a tensor of each in `frames_`, or both. A shared value is in all frames.
class TogetherRun {
 public:
  TogetherRun(const Plan& plan, absl::Span<const Join> joins, size_t requests,
              const RunState& state)
      : plan_(plan),
        joins_(joins),
        state_(state),
        joined_(plan),
        frames_(requests, Frame(plan)),
        places_(plan.num_slots()) {}

  absl::Status Run(absl::Span<RunBuffers* const> buffers) {
    for (size_t r = 0; r < frames_.size(); ++r) {
      ATTNRUN_RETURN_IF_ERROR(SetInputs(plan_, absl::MakeSpan(buffers[r]->inputs), frames_[r]));
    }
    const absl::Span<const Step> steps = plan_.steps();
    for (size_t i = 0; i < steps.size();) {
      const size_t separate = CountSeparate(i);
      if (separate > 0) {
        ATTNRUN_RETURN_IF_ERROR(RunSeparately(steps.subspan(i, separate)));
        i += separate;
      } else {
        ATTNRUN_RETURN_IF_ERROR(RunOne(steps[i], joins_[i]));
        ++i;
      }
    }
    for (RunBuffers* const request : buffers) request->outputs.clear();
    for (const int slot : plan_.outputs()) {
      Separate(slot);
      for (size_t r = 0; r < frames_.size(); ++r) {
        buffers[r]->outputs.push_back(frames_[r].Get(slot));
      }
    }
    return absl::OkStatus();
  }

 private:
  using Lengths = std::vector<int64_t>;

  // Where a value is. Those in neither place are in the frames of the requests.
  struct Place {
    bool is_joined = false;
    bool is_separate = true;
    int axis = 0;
    // The positions of each request.
    Lengths lengths = {};
  };

  bool IsConstant(int slot) const { return slot < static_cast<int>(plan_.constants().size()); }

  // The steps from here on that run once for each request. One with subgraphs is alone.
  size_t CountSeparate(size_t first) const {
    const auto is_separate = [&](size_t i) { return joins_[i].kind == JoinKind::kSeparate; };
    const auto has_subgraphs = [&](size_t i) { return !plan_.steps()[i].subgraphs.empty(); };
    if (is_separate(first) && has_subgraphs(first)) return 1;
    size_t end = first;
    while (end < joins_.size() && is_separate(end) && !has_subgraphs(end)) ++end;
    return end - first;
  }

  absl::Status RunOne(const Step& step, const Join& join) {
    if (join.kind == JoinKind::kShared) return RunShared(step);
    const auto lengths = JoinInputs(step, join);
    if (!lengths.ok()) return Annotate(lengths.status(), step.node->description());
    if (!lengths->has_value()) return RunSeparately({&step, 1});
    return RunJoined(step, join, **lengths);
  }

  absl::Status RunIn(Frame& frame, const Step& step, const RunState& state) {
    const absl::Status status = RunStep(step, frame, state);
    return status.ok() ? status : Annotate(status, step.node->description());
  }

  absl::Status RunOnce(const Step& step) {
    ATTNRUN_RETURN_IF_ERROR(RunIn(joined_, step, state_));
    ForEachDead(step, [&](int slot) {
      if (!places_[slot].is_separate) return;
      for (Frame& frame : frames_) frame.Clear(slot);
    });
    return absl::OkStatus();
  }

  absl::Status RunShared(const Step& step) {
    ATTNRUN_RETURN_IF_ERROR(RunOnce(step));
    for (const int slot : step.outputs) {
      for (size_t r = 0; slot >= 0 && r < frames_.size(); ++r)
        frames_[r].Set(slot, joined_.Get(slot));
    }
    return absl::OkStatus();
  }

  // Returns the positions of each request, or nullopt if the tensors of the requests do not fit
  // together, or have different numbers of positions.
  absl::StatusOr<std::optional<Lengths>> JoinInputs(const Step& step, const Join& join) {
    std::optional<Lengths> lengths;
    for (size_t i = 0; i < step.inputs.size(); ++i) {
      const int slot = step.inputs[i].slot;
      if (slot < 0 || IsConstant(slot) || join.input_axes[i] < 0) continue;
      ATTNRUN_RETURN_IF_ERROR(JoinParts(slot, join.input_axes[i]));
      const Place& place = places_[slot];
      if (!place.is_joined || place.axis != join.input_axes[i]) return std::nullopt;
      if (lengths.value_or(place.lengths) != place.lengths) return std::nullopt;
      lengths = place.lengths;
    }
    return lengths;
  }

  absl::Status JoinParts(int slot, int axis) {
    Place& place = places_[slot];
    if (place.is_joined) return absl::OkStatus();
    std::vector<Tensor> parts;
    parts.reserve(frames_.size());
    for (const Frame& frame : frames_) parts.push_back(frame.Get(slot));
    const std::optional<Shape> shape = JoinedShape(parts, axis);
    if (!shape.has_value()) return absl::OkStatus();
    ATTNRUN_ASSIGN_OR_RETURN(Tensor joined, JoinTensors(parts, axis, *shape, state_.allocator));
    joined_.Set(slot, std::move(joined));
    place.is_joined = true;
    place.axis = axis;
    place.lengths.clear();
    for (const Tensor& part : parts) place.lengths.push_back(part.dim(axis));
    return absl::OkStatus();
  }

  absl::Status RunJoined(const Step& step, const Join& join, const Lengths& lengths) {
    ATTNRUN_RETURN_IF_ERROR(RunOnce(step));
    for (size_t i = 0; i < step.outputs.size(); ++i) {
      if (step.outputs[i] < 0) continue;
      places_[step.outputs[i]] = {true, false, join.output_axes[i], lengths};
    }
    return absl::OkStatus();
  }

  // Makes views of the requests' parts of a joined tensor.
  void Separate(int slot) {
    if (slot < 0 || IsConstant(slot)) return;
    Place& place = places_[slot];
    if (place.is_separate) return;
    const Tensor whole = joined_.Get(slot);
    const Shape strides = ops::StridesOf(whole);
    Shape shape = whole.shape();
    int64_t first = 0;
    for (size_t r = 0; r < frames_.size(); ++r) {
      shape[place.axis] = place.lengths[r];
      frames_[r].Set(slot, whole.View(shape, strides, first * strides[place.axis]));
      first += place.lengths[r];
    }
    place.is_separate = true;
  }

  // Runs steps that follow each other, request by request.
  absl::Status RunSeparately(absl::Span<const Step> steps) {
    for (const Step& step : steps) {
      for (const InputRef& input : step.inputs) Separate(input.slot);
      for (const auto& [name, plan] : step.subgraphs) {
        for (const auto& [here, outside] : plan->captures()) Separate(outside);
      }
    }
    ATTNRUN_RETURN_IF_ERROR(AreAlike(steps) ? RunInParallel(steps) : RunInTurn(steps));
    for (const Step& step : steps) {
      for (const int slot : step.outputs) {
        if (slot >= 0) places_[slot] = Place();
      }
      ForEachDead(step, [&](int slot) { joined_.Clear(slot); });
    }
    return absl::OkStatus();
  }

  absl::Status RunInTurn(absl::Span<const Step> steps) {
    for (Frame& frame : frames_) {
      for (const Step& step : steps) ATTNRUN_RETURN_IF_ERROR(RunIn(frame, step, state_));
    }
    return absl::OkStatus();
  }

  // Each request on a thread.
  absl::Status RunInParallel(absl::Span<const Step> steps) {
    // Only the thread of the run may take threads or give them up.
    const RunState state = {state_.options,  state_.allocator,      state_.interrupt, state_.start,
                            state_.observer, state_.most_body_runs, state_.body_runs};
    std::vector<absl::Status> statuses(frames_.size());
    ParallelFor(static_cast<int64_t>(frames_.size()), 1, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        for (const Step& step : steps) {
          if (statuses[r].ok()) statuses[r] = RunIn(frames_[r], step, state);
        }
      }
    });
    const auto failed = absl::c_find_if_not(statuses, [](const auto& s) { return s.ok(); });
    return failed == statuses.end() ? absl::OkStatus() : *failed;
  }

  // True if no request keeps a thread busy while others have nothing to do: the work of a request
  // is about that of reading its inputs.
  bool AreAlike(absl::Span<const Step> steps) const {
    if (!steps[0].subgraphs.empty() || state_.options.profile != nullptr) return false;
    size_t total = 0;
    size_t most = 0;
    for (const Frame& frame : frames_) {
      size_t bytes = 0;
      for (const Step& step : steps) {
        for (const InputRef& input : step.inputs) {
          if (input.slot < 0 || IsConstant(input.slot)) continue;
          const Tensor& tensor = frame.Get(input.slot);
          if (tensor.defined() && !tensor.is_sequence()) bytes += tensor.byte_size();
        }
      }
      total += bytes;
      most = std::max(most, bytes);
    }
    return most * 2 * NumThreads() <= total;
  }

  // Calls clear(slot) for what no later step reads: RunStep clears it in the frame of the step
  // alone.
  template <typename F>
  static void ForEachDead(const Step& step, F clear) {
    for (const int slot : step.dead) clear(slot);
    for (const InputRef& input : step.inputs) {
      if (input.last_use) clear(input.slot);
    }
  }

  const Plan& plan_;
  const absl::Span<const Join> joins_;
  const RunState& state_;
  Frame joined_;
  std::vector<Frame> frames_;
  // By slot.
  std::vector<Place> places_;
};

}  // namespace

absl::Status ExecuteTogether(const Plan& plan, absl::Span<const Join> joins,
                             absl::Span<RunBuffers* const> buffers, const RunContext& context) {
  const InterruptScope scope(&context.interrupt);
  const StepObserver nobody;
  int64_t body_runs = 0;
  const RunState state = {
      context.options, context.allocator,      context.interrupt, absl::Now(),
      nobody,          context.most_body_runs, body_runs,         context.permits};
  return WithoutExceptions(
      [&] { return TogetherRun(plan, joins, buffers.size(), state).Run(buffers); });
}

}  // namespace attnrun::exec

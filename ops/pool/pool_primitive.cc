// SPDX-License-Identifier: Apache-2.0
#include "ops/pool/pool_primitive.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "ops/tensors/onednn.h"

namespace attnrun::ops {
namespace {

using dnnl::memory;

void EraseAxis(SlidingWindow& window, size_t axis) {
  for (Shape* values : {&window.input, &window.kernel, &window.strides, &window.dilations,
                        &window.pads_begin, &window.pads_end, &window.output}) {
    values->erase(values->begin() + static_cast<int64_t>(axis));
  }
}

// Adds an axis of one element, which every window holds.
void AddAxis(SlidingWindow& window) {
  for (Shape* values :
       {&window.input, &window.kernel, &window.strides, &window.dilations, &window.output}) {
    values->push_back(1);
  }
  window.pads_begin.push_back(0);
  window.pads_end.push_back(0);
}

bool IsTrivialAxis(const SlidingWindow& window, size_t axis) {
  return window.input[axis] == 1 && window.kernel[axis] == 1 && window.output[axis] == 1 &&
         window.pads_begin[axis] == 0;
}

// The distance by which the last window reaches beyond the input.
int64_t PadsEnd(const SlidingWindow& window, size_t axis) {
  const int64_t end = (window.output[axis] - 1) * window.strides[axis] + window.reach(axis) -
                      window.pads_begin[axis];
  return std::max<int64_t>(end - window.input[axis], 0);
}

bool EveryWindowHoldsSomething(const SlidingWindow& window, size_t axis) {
  for (int64_t i = 0; i < window.output[axis]; ++i) {
    const IndexRange taps = window.TapsInside(axis, i);
    if (taps.begin >= taps.end) return false;
  }
  return true;
}

// True if there is one window over the whole image, which may then be flattened to a line.
bool IsWholeImage(const SlidingWindow& window) {
  for (size_t axis = 0; axis < window.input.size(); ++axis) {
    const bool whole = window.output[axis] == 1 && window.kernel[axis] == window.input[axis] &&
                       window.dilations[axis] == 1 && window.pads_begin[axis] == 0;
    if (!whole) return false;
  }
  return true;
}

void MakeLine(SlidingWindow& window) {
  int64_t size = 1;
  for (const int64_t extent : window.input) size *= extent;
  while (!window.input.empty()) EraseAxis(window, window.input.size() - 1);
  AddAxis(window);
  window.input[0] = window.kernel[0] = size;
}

// True if oneDNN's 32-bit counts stay far from their limits, and its generated code, which has one
// copy per kernel element along the last axis, stays small.
bool IsOfModestSize(const SlidingWindow& window) {
  constexpr int64_t kMostOfLastAxis = 256;
  constexpr int64_t kMost = int64_t{1} << 24;
  if (window.kernel.back() > kMostOfLastAxis) return false;
  int64_t size = 1;
  for (size_t axis = 0; axis < window.input.size(); ++axis) {
    if (std::max({window.reach(axis), window.strides[axis], window.pads_begin[axis]}) > kMost) {
      return false;
    }
    const int64_t extent = std::max(window.input[axis], window.output[axis]);
    if (extent > kMost / size) return false;
    size *= extent;
  }
  return true;
}

dnnl::pooling_forward::primitive_desc DescribePool(const PoolAttributes& attributes,
                                                   const SlidingWindow& window, int64_t channels) {
  dnnl::algorithm algorithm = dnnl::algorithm::pooling_max;
  if (attributes.pooling == Pooling::kAverage) {
    algorithm = attributes.count_include_pad ? dnnl::algorithm::pooling_avg_include_padding
                                             : dnnl::algorithm::pooling_avg_exclude_padding;
  }
  memory::dims dilations;
  memory::dims pads_end;
  for (size_t axis = 0; axis < window.input.size(); ++axis) {
    dilations.push_back(window.dilations[axis] - 1);
    pads_end.push_back(PadsEnd(window, axis));
  }
  const auto dims = [](const Shape& shape) { return memory::dims(shape.begin(), shape.end()); };
  return {OneDnnEngine(),
          dnnl::prop_kind::forward_inference,
          algorithm,
          ChannelsLast(channels, window.input),
          ChannelsLast(channels, window.output),
          dims(window.strides),
          dims(window.kernel),
          dilations,
          dims(window.pads_begin),
          pads_end,
          UserScratch()};
}

// A primitive that reads one tensor and writes another.
class Stage {
 public:
  template <typename Desc, typename Primitive>
  Stage(const Desc& desc, const Primitive& primitive)
      : from_(desc.src_desc()),
        to_(desc.dst_desc()),
        scratch_(desc.scratchpad_desc()),
        primitive_(primitive) {}

  int64_t from_floats() const { return WholeLines(from_); }
  int64_t scratch_floats() const { return WholeLines(scratch_); }

  void Run(dnnl::stream& stream, const float* from, float* to, float* scratch) const {
    const dnnl::engine& engine = OneDnnEngine();
    // oneDNN has no read-only memory.
    primitive_.execute(stream, {{DNNL_ARG_FROM, memory(from_, engine, const_cast<float*>(from))},
                                {DNNL_ARG_TO, memory(to_, engine, to)},
                                {DNNL_ARG_SCRATCHPAD, memory(scratch_, engine, scratch)}});
  }

 private:
  const memory::desc from_;
  const memory::desc to_;
  const memory::desc scratch_;
  const dnnl::primitive primitive_;
};

Stage MakeReorder(const memory::desc& from, const memory::desc& to) {
  const dnnl::reorder::primitive_desc desc(OneDnnEngine(), from, OneDnnEngine(), to, UserScratch());
  return {desc, dnnl::reorder(desc)};
}

class OneDnnPool final : public PoolPrimitive {
 public:
  OneDnnPool(const SlidingWindow& window, int64_t channels,
             const dnnl::pooling_forward::primitive_desc& desc)
      : to_channels_last_(
            MakeReorder(RowMajor(Joined({1, channels}, window.input)), desc.src_desc())),
        pool_(desc, dnnl::pooling_forward(desc)),
        to_plain_(MakeReorder(desc.dst_desc(), RowMajor(Joined({1, channels}, window.output)))) {}

  int64_t scratch_floats() const override {
    return pool_.from_floats() + to_plain_.from_floats() +
           std::max({to_channels_last_.scratch_floats(), pool_.scratch_floats(),
                     to_plain_.scratch_floats()});
  }

  void Run(const float* x, float* y, float* scratch) const override {
    float* const last_x = scratch;
    float* const last_y = last_x + pool_.from_floats();
    float* const rest = last_y + to_plain_.from_floats();
    const OneThread one_thread;
    WithinMemory([&] {
      dnnl::stream stream(OneDnnEngine());
      to_channels_last_.Run(stream, x, last_x, rest);
      pool_.Run(stream, last_x, last_y, rest);
      to_plain_.Run(stream, last_y, y, rest);
    });
  }

 private:
  const Stage to_channels_last_;
  const Stage pool_;
  const Stage to_plain_;
};

}  // namespace

std::optional<SlidingWindow> PoolPrimitive::Normalized(const PoolAttributes& attributes,
                                                       const SlidingWindow& window) {
  if (attributes.pooling == Pooling::kLp) return std::nullopt;
  SlidingWindow normalized = window;
  if (IsWholeImage(window)) MakeLine(normalized);
  for (size_t axis = normalized.input.size(); axis-- > 0;) {
    if (IsTrivialAxis(normalized, axis)) EraseAxis(normalized, axis);
  }
  while (normalized.input.size() < 2) AddAxis(normalized);
  if (normalized.input.size() > 3 || !IsOfModestSize(normalized)) return std::nullopt;
  for (size_t axis = 0; axis < normalized.input.size(); ++axis) {
    // ONNX does not count elements beyond the padding, but oneDNN would.
    const bool beyond =
        attributes.count_include_pad && PadsEnd(normalized, axis) > normalized.pads_end[axis];
    if (beyond || !EveryWindowHoldsSomething(normalized, axis)) return std::nullopt;
  }
  return normalized;
}

std::shared_ptr<const PoolPrimitive> PoolPrimitive::Make(const PoolAttributes& attributes,
                                                         const SlidingWindow& window,
                                                         int64_t channels) {
  const OneThread one_thread;
  return MadeOrNull([&]() -> std::shared_ptr<const PoolPrimitive> {
    const auto desc = DescribePool(attributes, window, channels);
    // oneDNN's reference code is thousands of times slower.
    if (absl::StrContains(desc.impl_info_str(), "ref")) return nullptr;
    return std::make_shared<OneDnnPool>(window, channels, desc);
  });
}

}  // namespace attnrun::ops

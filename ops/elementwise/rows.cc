// SPDX-License-Identifier: Apache-2.0
#include "ops/elementwise/rows.h"

#include <algorithm>
#include <cstring>

#include "absl/container/inlined_vector.h"
#include "core/parallel.h"
#include "core/status.h"
#include "ops/tensors/strided_copy.h"

namespace attnrun::ops {
namespace {

// Elements that are converted or gathered at a time: few enough for the innermost cache.
constexpr int64_t kPiece = 512;
// Rows of up to this many elements are gathered to pieces of many rows.
constexpr int64_t kShortRow = 32;
constexpr size_t kVectorBytes = 64;
constexpr size_t kWidest = 8;

using Operands = absl::Span<const Tensor* const>;
using Offsets = std::array<int64_t, kMaxOperands>;

// An axis of the output with the operands' strides in elements (0: the operand repeats). Adjacent
// axes are merged where every operand allows it.
struct Axis {
  int64_t extent;
  Offsets strides;
};
using Axes = absl::InlinedVector<Axis, 4>;

// Elements of short rows of an operand that cannot be walked as one longer row.
struct ShortRows {
  int64_t length = 0;
  int64_t row_stride = 0;
  int64_t stride = 0;
};
using ShortOperands = std::array<ShortRows, kMaxOperands>;

int Width(DataType type) { return BitWidth(type) / 8; }

// True if every operand is laid out like the output or is a single element. This is the most common
// case, made cheap because shape arithmetic is full of it.
bool IsFlat(Operands operands, int64_t count) {
  return std::all_of(operands.begin(), operands.end(), [&](const Tensor* operand) {
    return operand->is_dense() &&
           (operand->num_elements() == count || operand->num_elements() == 1);
  });
}

Axes FlatAxes(Operands operands, int64_t count) {
  Axis axis{count, {}};
  for (size_t k = 0; k < operands.size(); ++k) {
    axis.strides[k] = operands[k]->num_elements() == count ? 1 : 0;
  }
  return {axis};
}

bool Merges(const Axis& outer, const Axis& inner, size_t operands) {
  for (size_t k = 0; k < operands; ++k) {
    if (outer.strides[k] != inner.strides[k] * inner.extent) return false;
  }
  return true;
}

Axes MergedAxes(Operands operands, const Shape& shape) {
  Axes axes;
  absl::InlinedVector<Shape, kMaxOperands> strides;
  for (const Tensor* operand : operands) {
    strides.push_back(StridesOf(*operand));
  }
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 1) continue;
    Axis axis{shape[i], {}};
    for (size_t k = 0; k < operands.size(); ++k) {
      const size_t missing = shape.size() - operands[k]->shape().size();
      const bool repeats = i < missing || operands[k]->shape()[i - missing] == 1;
      axis.strides[k] = repeats ? 0 : strides[k][i - missing];
    }
    if (!axes.empty() && Merges(axes.back(), axis, operands.size())) {
      axis.extent *= axes.back().extent;
      axes.back() = axis;
    } else {
      axes.push_back(axis);
    }
  }
  if (axes.empty()) axes.push_back({1, {}});
  return axes;
}

// Joins the last axis, if it is short, with the one before. Operands for which that makes no single
// axis get a stride of 0, and their rows are described.
ShortOperands JoinShortRows(size_t operands, Axes& axes) {
  ShortOperands rows;
  if (axes.size() < 2 || axes.back().extent > kShortRow) return rows;
  const Axis inner = axes.back();
  axes.pop_back();
  Axis& joined = axes.back();
  for (size_t k = 0; k < operands; ++k) {
    int64_t& stride = joined.strides[k];
    const bool merges = stride == inner.strides[k] * inner.extent;
    if (!merges) rows[k] = {inner.extent, stride, inner.strides[k]};
    stride = merges ? inner.strides[k] : 0;
  }
  joined.extent *= inner.extent;
  return rows;
}

// Elements `first` to `first` + `count` of short rows.
template <typename T>
void GatherRows(const T* from, const ShortRows& rows, int64_t first, int64_t count, T* to) {
  int64_t column = first % rows.length;
  const T* row = from + first / rows.length * rows.row_stride;
  for (const T* const end = to + count; to < end; row += rows.row_stride, column = 0) {
    const int64_t n = std::min<int64_t>(rows.length - column, end - to);
    const T* x = row + column * rows.stride;
    for (int64_t i = 0; i < n; ++i, x += rows.stride) *to++ = *x;
  }
}

// Calls `move` with an integer of `width` bytes.
template <typename Move>
void WithElement(int width, Move move) {
  switch (width) {
    case 1:
      return move(uint8_t{});
    case 2:
      return move(uint16_t{});
    case 4:
      return move(uint32_t{});
    default:
      return move(uint64_t{});
  }
}

// Fills one vector with the element of `width` bytes at `from`, which may lie within the vector.
void Repeat(const char* from, int width, char* vector) {
  WithElement(width, [&](auto element) {
    std::memcpy(&element, from, sizeof(element));
    std::fill_n(reinterpret_cast<decltype(element)*>(vector), kVectorBytes / sizeof(element),
                element);
  });
}

// Computes a range of the output's elements, in one thread. Operands that the program lacks are
// walked with strides of 0 and never read.
class RangeRunner {
 public:
  RangeRunner(const RowProgram& program, Operands operands, const Axes& axes,
              const ShortOperands& short_rows, Tensor& out)
      : program_(program), axes_(axes), short_rows_(short_rows), inner_(axes.back()), out_(out) {
    for (size_t k = 0; k < operands.size(); ++k) {
      used_[k] = true;
      data_[k] = operands[k]->data<char>();
      width_[k] = Width(operands[k]->type());
      if (operands[k]->type() != program.inputs[k]) {
        convert_[k] = ConvertRow(operands[k]->type(), program.inputs[k]);
      }
      const int64_t stride = inner_.strides[k];
      staged_ = staged_ || short_rows_[k].length > 0 ||
                (stride != 0 && (stride != 1 || convert_[k] != nullptr));
    }
    if (out.type() != program.output) convert_output_ = ConvertRow(program.output, out.type());
    staged_ = staged_ || convert_output_ != nullptr;
  }

  void Run(int64_t begin, int64_t end) {
    absl::InlinedVector<int64_t, 4> index(axes_.size());
    Offsets offsets{};
    int64_t rest = begin;
    for (size_t i = axes_.size(); i-- > 0; rest /= axes_[i].extent) {
      index[i] = rest % axes_[i].extent;
      Step(offsets, axes_[i], index[i]);
    }
    while (begin < end) {
      size_t i = axes_.size() - 1;
      const int64_t n = std::min(inner_.extent - index[i], end - begin);
      RunRow(offsets, index[i], begin, n);
      begin += n;
      index[i] += n;
      Step(offsets, inner_, n);
      for (; i > 0 && index[i] == axes_[i].extent; --i) {
        Step(offsets, axes_[i], -axes_[i].extent);
        index[i] = 0;
        Step(offsets, axes_[i - 1], 1);
        ++index[i - 1];
      }
    }
  }

 private:
  static void Step(Offsets& offsets, const Axis& axis, int64_t steps) {
    for (int k = 0; k < kMaxOperands; ++k) offsets[k] += steps * axis.strides[k];
  }

  // `first` is the place along the last axis.
  void RunRow(const Offsets& offsets, int64_t first, int64_t at, int64_t n) {
    if (!staged_) return RunPiece(offsets, first, at, n);
    Offsets moved = offsets;
    for (int64_t done = 0; done < n; done += kPiece) {
      RunPiece(moved, first + done, at + done, std::min(kPiece, n - done));
      Step(moved, inner_, kPiece);
    }
  }

  void RunPiece(const Offsets& offsets, int64_t first, int64_t at, int64_t n) {
    std::array<RowOperand, kMaxOperands> row;
    for (int k = 0; k < kMaxOperands; ++k) {
      const char* data = data_[k] + offsets[k] * width_[k];
      if (inner_.strides[k] == 1 && convert_[k] == nullptr) {
        row[k] = {data, kEachElement};
      } else if (used_[k]) {
        row[k] = Prepared(k, data, first, n);
      }
    }
    char* out = out_.mutable_data<char>() + at * Width(out_.type());
    char* computed = convert_output_ != nullptr ? output_ : out;
    program_.function(row.data(), computed, n, program_.parameters);
    if (convert_output_ == nullptr) return;
    const RowOperand result{computed, kEachElement};
    convert_output_(&result, out, n, program_.parameters);
  }

  RowOperand Prepared(int k, const char* data, int64_t first, int64_t n) {
    const int64_t stride = inner_.strides[k];
    const bool is_short = short_rows_[k].length > 0;
    if (stride == 0 && !is_short) {
      if (repeated_[k] != data)
        Repeat(Converted(k, data, 1), Width(program_.inputs[k]), inputs_[k]);
      repeated_[k] = data;
      return {inputs_[k], kSameElement};
    }
    if (stride != 1) {
      const ShortRows rows = is_short ? short_rows_[k] : ShortRows{n, 0, stride};
      char* gathered = convert_[k] != nullptr ? gathered_ : inputs_[k];
      WithElement(width_[k], [&](auto element) {
        using T = decltype(element);
        GatherRows(reinterpret_cast<const T*>(data), rows, is_short ? first : 0, n,
                   reinterpret_cast<T*>(gathered));
      });
      data = gathered;
    }
    return {Converted(k, data, n), kEachElement};
  }

  const char* Converted(int k, const char* data, int64_t n) {
    if (convert_[k] == nullptr) return data;
    const RowOperand source{data, kEachElement};
    convert_[k](&source, inputs_[k], n, program_.parameters);
    return inputs_[k];
  }

  const RowProgram& program_;
  const Axes& axes_;
  const ShortOperands& short_rows_;
  const Axis inner_;
  Tensor& out_;
  std::array<bool, kMaxOperands> used_{};
  std::array<const char*, kMaxOperands> data_{};
  std::array<int, kMaxOperands> width_{};
  std::array<RowFunction, kMaxOperands> convert_{};
  RowFunction convert_output_ = nullptr;
  // True if rows go through the buffers below.
  bool staged_ = false;
  // The addresses of the elements that `inputs_` holds copies of.
  std::array<const char*, kMaxOperands> repeated_{};
  alignas(kVectorBytes) char inputs_[kMaxOperands][kPiece * kWidest];
  alignas(kVectorBytes) char gathered_[kPiece * kWidest];
  alignas(kVectorBytes) char output_[kPiece * kWidest];
};

}  // namespace

void RunRows(const RowProgram& program, Operands operands, Tensor& out) {
  const int64_t count = out.num_elements();
  if (count == 0) return;
  Axes axes =
      IsFlat(operands, count) ? FlatAxes(operands, count) : MergedAxes(operands, out.shape());
  const ShortOperands short_rows = JoinShortRows(operands.size(), axes);
  ParallelFor(count, program.grain, [&](int64_t begin, int64_t end) {
    RangeRunner(program, operands, axes, short_rows, out).Run(begin, end);
  });
}

bool RowKernel::Accepts(const OpContext& context) const {
  return static_cast<bool>(Program(context));
}

absl::Status RowKernel::Run(OpContext& context) const {
  const RowProgram program = Program(context);
  ATTNRUN_RETURN_IF_ERROR(CheckValues(context));
  absl::InlinedVector<const Tensor*, kMaxOperands> operands = {&context.input(0)};
  Shape shape = context.input(0).shape();
  for (int i = 1; i < context.num_inputs(); ++i) {
    const Tensor& operand = context.input(i);
    operands.push_back(&operand);
    if (operand.shape() == shape) continue;
    ATTNRUN_ASSIGN_OR_RETURN(shape, BroadcastShapes(shape, operand.shape()));
  }
  ATTNRUN_ASSIGN_OR_RETURN(Tensor * out,
                           context.AllocateOutput(0, OutputType(context), shape, {0, 1, 2}));
  RunRows(program, operands, *out);
  return absl::OkStatus();
}

DataType ComputeType(DataType type) {
  switch (type) {
    case DataType::kFloat16:
    case DataType::kBfloat16:
      return DataType::kFloat;
    case DataType::kUint8:
    case DataType::kInt8:
    case DataType::kUint16:
    case DataType::kInt16:
    case DataType::kUint32:
      return DataType::kInt64;
    default:
      return type;
  }
}

}  // namespace attnrun::ops

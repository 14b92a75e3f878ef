// SPDX-License-Identifier: Apache-2.0
#include "state/initial_shapes.h"

#include <memory>
#include <string>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "core/quote.h"
#include "core/status.h"
#include "graph/declared_extent.h"
#include "input_fit/extent_search.h"

namespace attnrun::state {
namespace {

class Shapes {
 public:
  Shapes(const LazyNeeds& needs, const std::vector<ValueInfo>& inputs,
         const std::vector<StateValue>& values, const StateOptions& options)
      : needs_(needs), inputs_(inputs), values_(values), options_(options) {}

  absl::StatusOr<std::vector<Shape>> Find() {
    std::vector<Shape> shapes;
    for (const StateValue& value : values_) {
      const ValueInfo& input = InfoOf(value);
      if (!input.shape.has_value()) {
        return absl::UnimplementedError(
            absl::StrCat("no state can be made: the model does not state the rank of input ",
                         Quoted(input.name)));
      }
      if (value.kind == StateKind::kReplaced) {
        ATTNRUN_RETURN_IF_ERROR(CheckReplaced(input.name, *input.shape));
      }
      Shape& shape = shapes.emplace_back();
      for (size_t axis = 0; axis < input.shape->size(); ++axis) {
        shape.push_back(ExtentOf(value, input.name, (*input.shape)[axis], axis));
      }
    }
    return shapes;
  }

 private:
  // A window with room for all positions moves by as many at once. It then begins at a multiple of
  // the keys that attention takes together, so that sums are those of a run without a cache.
  static constexpr int64_t kSlide = 64;

  const ValueInfo& InfoOf(const StateValue& value) const {
    return *absl::c_find_if(inputs_,
                            [&](const ValueInfo& info) { return info.name == value.input; });
  }

  // A cache of another layout than those that are appended to, such as [2,batch,heads,past,size],
  // looks like a value that each run computes anew. How many positions it begins with is then not
  // known.
  absl::Status CheckReplaced(const std::string& input, const std::vector<Dim>& dims) const {
    for (size_t axis = 1; axis < dims.size(); ++axis) {
      const Dim& dim = dims[axis];
      if (dim.is_fixed() || IsBatch(dim)) continue;
      return absl::UnimplementedError(absl::StrCat(
          "no state can be made: nothing is appended to input ", Quoted(input),
          " along an axis that is known, and its extent ", Quoted(dim.symbol), " is not fixed"));
    }
    return absl::OkStatus();
  }

  // True if an input has this extent in front.
  bool IsBatch(const Dim& dim) const {
    return absl::c_any_of(inputs_, [&](const ValueInfo& input) {
      return input.shape.has_value() && !input.shape->empty() && (*input.shape)[0] == dim;
    });
  }

  int64_t ExtentOf(const StateValue& value, const std::string& input, const Dim& dim, size_t axis) {
    if (dim.is_fixed()) return dim.value;
    if (axis == 0) return options_.batch;
    if (static_cast<int>(axis) == value.axis && value.kind != StateKind::kWindow) {
      return value.kind == StateKind::kWritten ? options_.capacity : 0;
    }
    if (value.kind == StateKind::kKept && options_.encoder_positions > 0) {
      return options_.encoder_positions;
    }
    if (search_ == nullptr) Search();
    const int64_t extent = search_->Value(SymbolOf(input, dim, axis));
    const bool slides = static_cast<int>(axis) == value.axis && extent > 0;
    return slides ? extent - 1 + kSlide : extent;
  }

  // True on the axis of positions of a window, which begins without any or, where the model demands
  // room for all positions, with zeros.
  bool IsOfWindow(const std::string& input, size_t axis) const {
    return absl::c_any_of(values_, [&](const StateValue& value) {
      return value.kind == StateKind::kWindow && value.input == input &&
             value.axis == static_cast<int>(axis);
    });
  }

  // Looks for a run on one position after another one.
  void Search() {
    fit::ExtentSearch::Extents extents;
    for (const ValueInfo& input : inputs_) {
      for (size_t axis = 0; input.shape.has_value() && axis < input.shape->size(); ++axis) {
        const Dim& dim = (*input.shape)[axis];
        if (dim.is_fixed()) continue;
        const bool is_batch = axis == 0;
        const int64_t proposed = is_batch ? options_.batch : IsOfWindow(input.name, axis) ? 0 : 1;
        const auto extent = fit::ExtentSearch::Extent{proposed, is_batch};
        extents.try_emplace(SymbolOf(input.name, dim, axis), extent);
      }
    }
    search_ = std::make_unique<fit::ExtentSearch>(needs_.Get(), extents);
    search_->Run();
  }

  static std::string SymbolOf(const std::string& input, const Dim& dim, size_t axis) {
    return DeclaredExtent(input, dim, axis).ToString();
  }

  const LazyNeeds& needs_;
  const std::vector<ValueInfo>& inputs_;
  const std::vector<StateValue>& values_;
  const StateOptions& options_;
  std::unique_ptr<fit::ExtentSearch> search_;
};

}  // namespace

const fit::InputNeeds& LazyNeeds::Get() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!needs_.has_value()) needs_ = fit::NeedsOf(graph_);
  return *needs_;
}

absl::StatusOr<std::vector<Shape>> InitialShapes(const LazyNeeds& needs,
                                                 const std::vector<ValueInfo>& inputs,
                                                 const std::vector<StateValue>& values,
                                                 const StateOptions& options) {
  if (options.batch < 0 || options.capacity < 0 || options.encoder_positions < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected a batch, a capacity and encoder positions of at least 0, but found ",
                     options.batch, ", ", options.capacity, " and ", options.encoder_positions));
  }
  return Shapes(needs, inputs, values, options).Find();
}

}  // namespace attnrun::state

// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_INPUT_FIT_EXTENT_SEARCH_H_
#define ATTNRUN_INPUT_FIT_EXTENT_SEARCH_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "input_fit/input_needs.h"

namespace attnrun::fit {

// Looks for extents that meet the needs of a model, from those that a caller wishes for. Each step
// changes the extents of one need that is not met, one or two of them, to the values that leave the
// fewest needs unmet, and of those to the nearest. Stops where no such step helps.
class ExtentSearch {
 public:
  struct Extent {
    int64_t value = 0;
    bool is_fixed = false;
  };
  using Extents = std::map<std::string, Extent>;

  // `extents`: by the text of their symbols (SymInt::ToString). `needs` must outlive this.
  ExtentSearch(const InputNeeds& needs, Extents extents);

  void Run();
  // Precondition: there is such an extent.
  int64_t Value(const std::string& symbol) const { return extents_.at(symbol).value; }
  // The value of a number; nullopt if it cannot be computed.
  std::optional<int64_t> ValueOf(const SymInt& number) const;

 private:
  // A need: `a` is at least 0, or equal to `b`, or that or one of the two 1.
  struct Need {
    enum Kind { kNotNegative, kEqual, kBroadcast } kind;
    SymInt a;
    SymInt b;
    std::set<std::string> symbols;
  };
  // Extents to change at once, to one value.
  using Group = std::vector<std::string>;
  // A possible step, and how good it is: less is better.
  struct Step {
    size_t unmet = 0;
    double distance = 0;
    const Group* group = nullptr;
    int64_t value = 0;
  };

  void Add(Need::Kind kind, const SymInt& a, const SymInt& b);
  bool IsMet(const Need& need) const;
  std::vector<const Need*> Unmet() const;
  // The needs that the extents of a group appear in.
  std::vector<const Need*> NeedsOf(const Group& group) const;
  std::vector<Group> GroupsOf(const Need& need) const;
  std::vector<int64_t> CandidatesFor(const Need& need) const;
  // Improves on `best` by a value for the group, where `unmet` needs are not met now.
  void TryGroup(const Group& group, const std::vector<int64_t>& candidates, size_t unmet,
                Step& best);
  void Set(const Group& group, int64_t value);
  bool Improve(const Need& need);

  Extents extents_;
  std::map<std::string, int64_t> wished_;
  std::vector<Need> needs_;
};

}  // namespace attnrun::fit

#endif  // ATTNRUN_INPUT_FIT_EXTENT_SEARCH_H_

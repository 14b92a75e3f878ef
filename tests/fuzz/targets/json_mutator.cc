// SPDX-License-Identifier: Apache-2.0
#include "fuzz/targets/json_mutator.h"

#include <limits>
#include <random>
#include <utility>
#include <vector>

namespace attnrun::testing {
namespace {

using Json = nlohmann::json;

class JsonMutator {
 public:
  explicit JsonMutator(uint32_t seed) : random_(seed) {}

  void Mutate(Json& json, const Json& donor) {
    Collect(donor);
    Collect(json);
    std::vector<Json*> places;
    Places(json, places);
    Json& place = *places[Below(places.size())];
    if (place.is_structured() && Below(2) == 0) {
      ChangeMembers(place);
    } else {
      place = Value();
    }
  }

 private:
  size_t Below(size_t count) { return count == 0 ? 0 : random_() % count; }

  void Collect(const Json& json) {
    values_.push_back(json);
    for (const auto& [name, value] : json.items()) {
      if (json.is_object()) members_.emplace_back(name, value);
      if (json.is_structured()) Collect(value);
    }
  }

  static void Places(Json& json, std::vector<Json*>& places) {
    places.push_back(&json);
    if (!json.is_structured()) return;
    for (Json& value : json) Places(value, places);
  }

  Json Value() {
    const Json values[] = {nullptr,
                           true,
                           0,
                           1,
                           -1,
                           22,
                           23,
                           1.5,
                           -0.5,
                           1e300,
                           1e-300,
                           "never",
                           "",
                           std::numeric_limits<int64_t>::max(),
                           std::numeric_limits<int64_t>::min(),
                           std::numeric_limits<uint64_t>::max(),
                           Json::array(),
                           Json::object(),
                           Json::array({1}),
                           Json::array({Json::array({1, 2})})};
    if (Below(3) == 0) return values_[Below(values_.size())];
    return values[Below(std::size(values))];
  }

  // Adds or removes a member of an object or an element of an array.
  void ChangeMembers(Json& json) {
    const bool remove = !json.empty() && Below(2) == 0;
    if (remove) {
      auto victim = json.begin();
      std::advance(victim, Below(json.size()));
      json.erase(victim);
    } else if (json.is_array()) {
      json.push_back(Value());
    } else if (!members_.empty()) {
      const auto& [name, value] = members_[Below(members_.size())];
      json[name] = Below(2) == 0 ? value : Value();
    }
  }

  std::mt19937 random_;
  std::vector<Json> values_;
  std::vector<std::pair<std::string, Json>> members_;
};

}  // namespace

void MutateJson(Json& json, const Json& donor, uint32_t seed) {
  JsonMutator(seed).Mutate(json, donor);
}

}  // namespace attnrun::testing

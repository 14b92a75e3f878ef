// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_CORE_HASH_MAP_H_
#define ATTNRUN_CORE_HASH_MAP_H_

#include <functional>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>

#include "absl/hash/hash.h"
#include "absl/strings/string_view.h"

namespace attnrun {

// Strings are found by views of them, without a copy.
struct StringHash {
  using is_transparent = void;
  size_t operator()(absl::string_view text) const { return absl::HashOf(text); }
};

namespace internal {

template <typename Key>
struct Hashing {
  using Hash = std::conditional_t<std::is_pointer_v<Key>, std::hash<Key>, absl::Hash<Key>>;
  using Equal = std::equal_to<Key>;
};
template <>
struct Hashing<std::string> {
  using Hash = StringHash;
  using Equal = std::equal_to<>;
};

}  // namespace internal

// The standard library's containers, since memory may run out: an insertion that fails leaves them
// as they were. Abseil's flat and node containers, and its B-trees, are then broken, and their
// destructors free what they do not own.
template <typename Key, typename T>
using HashMap = std::unordered_map<Key, T, typename internal::Hashing<Key>::Hash,
                                   typename internal::Hashing<Key>::Equal>;
template <typename Key>
using HashSet = std::unordered_set<Key, typename internal::Hashing<Key>::Hash,
                                   typename internal::Hashing<Key>::Equal>;

}  // namespace attnrun

#endif  // ATTNRUN_CORE_HASH_MAP_H_

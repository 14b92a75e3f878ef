// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_GEMM_PACKED_STORE_H_
#define ATTNRUN_OPS_GEMM_PACKED_STORE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "attnrun/tensor.h"
#include "core/weak_pool.h"

namespace attnrun::ops {

// The first number of a recipe. Files of the weight cache hold these numbers.
enum class PackedKind : uint8_t { kMatrix = 0, kNBit = 1, kInt8 = 2 };

// Everything that determines the bytes of a packed weight.
struct PackedRecipe {
  // The kind, its format and extents, and the type, extents and strides of each source.
  std::vector<int64_t> numbers;
  // The bytes that the weight is made from, as the model stores them or the optimizer computed
  // them.
  std::vector<absl::string_view> sources;
};

// Adds a source with its type, extents and strides. An undefined tensor is a type without bytes.
void AppendTensor(const Tensor& tensor, PackedRecipe& recipe);

// A packed weight as a store keeps it.
struct PackedBytes {
  // Facts about the weight that packing found out.
  uint64_t facts = 0;
  // Dense; a store returns them as uint8 [bytes], aligned to 64 bytes.
  std::vector<Tensor> parts;
};

// A part as a tensor of this type and shape; undefined if it has another size.
Tensor BytesAs(const Tensor& part, DataType type, const Shape& shape);

// A hash of the facts and of a sample of the first part; equal for equal weights.
size_t SampleHash(const PackedBytes& packed);
// True if facts, types, shapes and bytes are equal.
bool SameBits(const PackedBytes& a, const PackedBytes& b);

// A live weight of equal extents and bytes, whichever node, model or session it belongs to, or else
// this one, for later ones.
template <typename T>
absl::StatusOr<std::shared_ptr<const T>> ShareLive(const std::shared_ptr<const T>& packed) {
  const PackedBytes bytes = packed->bytes();
  return WeakPool<T>::Get().FindOrMake(
      SampleHash(bytes),
      [&](const T& other) { return packed->HasExtentsOf(other) && SameBits(bytes, other.bytes()); },
      [&]() -> absl::StatusOr<std::shared_ptr<const T>> { return packed; });
}

// Numbers that tell packed weights apart.
using PackedKey = std::vector<uint64_t>;

// A store for packed weights that outlives the process, such as the weight cache.
class PackedStore {
 public:
  virtual ~PackedStore() = default;

  // Equal for equal numbers and sources of equal contents.
  virtual PackedKey KeyOf(const PackedRecipe& recipe) const = 0;
  // The packed weight; nullopt if the store has none. It comes from outside: whoever reads it must
  // check that its parts fit the recipe.
  virtual std::optional<PackedBytes> Find(const PackedKey& key) = 0;
  // Replaces the one that was there.
  virtual void Add(const PackedKey& key, PackedBytes packed) = 0;
};

// The weight in the store, which may be null, as `read` makes it of its bytes. If there is none, or
// `read` returns null, the result of `pack`, which goes into the store.
template <typename T>
absl::StatusOr<std::shared_ptr<const T>> FindOrPack(
    PackedStore* store, const PackedRecipe& recipe,
    absl::FunctionRef<std::shared_ptr<const T>(const PackedBytes&)> read,
    absl::FunctionRef<absl::StatusOr<std::shared_ptr<const T>>()> pack) {
  if (store == nullptr) return pack();
  const PackedKey key = store->KeyOf(recipe);
  const std::optional<PackedBytes> found = store->Find(key);
  std::shared_ptr<const T> weight = found.has_value() ? read(*found) : nullptr;
  if (weight != nullptr) return weight;
  absl::StatusOr<std::shared_ptr<const T>> packed = pack();
  if (packed.ok()) store->Add(key, (*packed)->bytes());
  return packed;
}

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_GEMM_PACKED_STORE_H_

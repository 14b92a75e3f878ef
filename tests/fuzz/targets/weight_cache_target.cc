// SPDX-License-Identifier: Apache-2.0
// Files of the weight cache. The first byte chooses the file, and may ask for valid checksums,
// behind which a fuzzer otherwise does not get.
#include <cstring>
#include <vector>

#include "core/file_bytes.h"
#include "fuzz/targets/cache_seeds.h"
#include "fuzz/targets/memory_file.h"
#include "fuzz/targets/target.h"
#include "ops/gemm/gemm.h"
#include "ops/gemm/int8_gemm.h"
#include "ops/gemm/int8_panels.h"
#include "ops/gemm/nbit_panels.h"
#include "ops/gemm/nbit_product.h"
#include "ops/gemm/packed_matrix.h"
#include "weight_cache/checksum.h"
#include "weight_cache/packed_file.h"
#include "weight_cache/source_stamp.h"

namespace attnrun::testing {
namespace {

constexpr size_t kWord = sizeof(uint64_t);
constexpr size_t kHeaderWords = 7;

void PutChecksum(std::string& bytes, size_t begin) {
  if (begin > bytes.size() || bytes.size() - begin < kWord) return;
  const uint64_t checksum = cache::Checksum::Of(absl::string_view(bytes).substr(0, begin)).low;
  std::memcpy(bytes.data() + begin, &checksum, kWord);
}

// Makes the checksum behind the index of a packed file right.
void MendPacked(std::string& bytes) {
  uint64_t words = 0;
  if (bytes.size() < kHeaderWords * kWord) return;
  std::memcpy(&words, bytes.data() + (kHeaderWords - 1) * kWord, kWord);
  if (words < bytes.size()) PutChecksum(bytes, (kHeaderWords + words) * kWord);
}

std::vector<float> Ones(int64_t count) { return std::vector<float>(count, 1.0F); }

// Multiplies by the weight that the key tells of, if the entry can be such a weight.
void Multiply(const SeedWeight& seed, const ops::PackedBytes& packed) {
  constexpr int64_t kRows = 2;
  const std::vector<float> a = Ones(kRows * seed.rows);
  std::vector<float> c(kRows * seed.columns);
  const ops::MatrixView rows = {a.data(), kRows, seed.rows, seed.rows};
  if (seed.kind == ops::PackedKind::kMatrix) {
    const std::vector<float> floats = Ones(seed.rows * seed.columns);
    const ops::SideBySide weight(
        {ops::MatrixView{floats.data(), seed.rows, seed.columns, seed.columns}});
    const auto matrix = ops::PackedMatrix::Read(seed.format, weight, packed);
    if (matrix != nullptr) ops::Gemm(rows, *matrix, c.data(), seed.columns, {});
  } else if (seed.kind == ops::PackedKind::kNBit) {
    const auto panels = ops::NBitPanels::Read(
        {.bits = seed.bits, .block = 32, .rows = seed.rows, .columns = seed.columns}, packed);
    if (panels == nullptr) return;
    const ops::NBitActivations activations = ops::ActivationsFor(Precision::kFloat32, *panels);
    ops::NBitGemm(activations, rows, *panels, c.data(), seed.columns, {});
  } else {
    const auto panels = ops::Int8Panels::Read(seed.rows, seed.columns, packed);
    if (panels == nullptr) return;
    const Tensor bytes =
        Tensor::Of<uint8_t>({kRows, seed.rows}, std::vector<uint8_t>(kRows * seed.rows, 255))
            .value();
    std::vector<int32_t> sums(kRows * seed.columns);
    ops::Int8Epilogue epilogue;
    epilogue.sums = sums.data();
    ops::Int8Gemm({&bytes, 0, kRows, seed.rows, {}}, *panels, epilogue);
  }
}

// True if this machine packs matrices in this format.
bool IsOurs(ops::WeightFormat format) {
  for (const Precision precision : {Precision::kFloat32, Precision::kBfloat16, Precision::kInt8}) {
    for (const DataType stored : {DataType::kFloat, DataType::kFloat16, DataType::kBfloat16}) {
      if (ops::FormatFor(precision, stored) == format) return true;
    }
  }
  return false;
}

// Reads every byte of the weights, which lie in the file, and multiplies by them.
void ReadPacked(const std::string& bytes, bool trusted) {
  const MemoryFile file(bytes);
  std::optional<FileIdentity> identity;
  if (trusted) {
    const auto opened = FileBytes::Open(file.path());
    if (opened.ok()) identity = (*opened)->identity();
  }
  const auto packed = cache::OpenPackedFile(file.path(), kSeedContent, identity);
  if (!packed.has_value()) return;
  for (const auto& [key, weight] : packed->weights) {
    for (const Tensor& part : weight.parts) {
      cache::Checksum::Of({static_cast<const char*>(part.raw()), part.byte_size()});
    }
    const SeedWeight seed = SeedWeight::Of(key);
    if (IsOurs(seed.format)) Multiply(seed, weight);
  }
}

void ReadStamp(const std::string& bytes) {
  const MemoryFile file(bytes);
  const std::optional<cache::SourceStamp> stamp = cache::ReadSourceStamp(file.path());
  if (!stamp.has_value()) return;
  if (stamp->FileName().empty() || stamp->PackedFileName().empty()) Fail("a stamp has no name");
}

void Read(uint8_t choice, std::string bytes) {
  const bool is_mended = (choice & 2) != 0;
  if ((choice & 1) != 0) {
    if (is_mended && bytes.size() >= kWord) PutChecksum(bytes, bytes.size() - kWord);
    ReadStamp(bytes);
  } else {
    if (is_mended) MendPacked(bytes);
    ReadPacked(bytes, (choice & 4) != 0);
  }
}

}  // namespace
}  // namespace attnrun::testing

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  attnrun::testing::Read(data[0], {reinterpret_cast<const char*>(data) + 1, size - 1});
  return 0;
}

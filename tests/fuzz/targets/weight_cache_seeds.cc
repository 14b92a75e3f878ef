// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/div_ceil.h"
#include "fuzz/targets/cache_seeds.h"
#include "fuzz/targets/seeds.h"
#include "ops/gemm/int8_panels.h"
#include "ops/gemm/nbit_panels.h"
#include "ops/gemm/packed_matrix.h"
#include "weight_cache/packed_file.h"
#include "weight_cache/source_stamp.h"

namespace attnrun::testing {
namespace {

constexpr int64_t kRows = 70;
constexpr int64_t kColumns = 40;

// Small weights stay finer than int8 if they are packed as a session does it.
void AddMatrix(ops::WeightFormat format, cache::PackedWeights& weights) {
  const std::vector<float> floats(kRows * kColumns, 0.5F);
  const ops::SideBySide source({ops::MatrixView{floats.data(), kRows, kColumns, kColumns}});
  const int64_t bytes = ops::PanelBytes(format, kRows);
  const int64_t panels = DivCeil(kColumns, ops::PanelColumns(format));
  Tensor data = Tensor::Allocate(DataType::kUint8, {panels * bytes}).value();
  for (int64_t i = 0; i < panels; ++i) {
    ops::PackPanel(format, source, kRows, kColumns, i, data.mutable_data<uint8_t>() + i * bytes);
  }
  const SeedWeight seed = {.rows = kRows, .columns = kColumns, .format = format};
  weights[seed.Key()] = {0, {data}};
}

// Few extremes, so that a machine with saturation corrections uses them.
void AddIntegers(cache::PackedWeights& weights) {
  std::vector<int8_t> numbers(kRows * kColumns, 3);
  for (size_t i = 0; i < numbers.size(); i += 200) numbers[i] = 127;
  const Tensor values = Tensor::Of<int8_t>({kRows, kColumns}, numbers).value();
  const ops::Int8Matrix matrix = {&values, 0, kRows, kColumns, nullptr};
  const SeedWeight seed = {.kind = ops::PackedKind::kInt8, .rows = kRows, .columns = kColumns};
  weights[seed.Key()] = ops::Int8Panels::Pack({&matrix, 1}, Allocator::Heap()).value()->bytes();
}

void AddCodes(int bits, cache::PackedWeights& weights) {
  constexpr int64_t kBlock = 32;
  const SeedWeight seed = {
      .kind = ops::PackedKind::kNBit, .rows = kRows, .columns = kColumns, .bits = bits};
  ops::NBitColumns columns = {.bits = bits, .block = kBlock, .rows = kRows, .columns = kColumns};
  const std::vector<uint8_t> codes(kColumns * columns.blocks() * columns.bytes_per_block(), 0x5a);
  const std::vector<float> scales(kColumns * columns.blocks(), 0.5F);
  columns.codes = codes.data();
  columns.scales = scales.data();
  weights[seed.Key()] = ops::NBitPanels::Pack({columns}).value()->bytes();
}

}  // namespace

// The first byte of each seed asks for valid checksums of a packed file or a stamp.
void WriteSeeds(const std::filesystem::path& folder) {
  cache::PackedWeights weights;
  for (const Precision precision : {Precision::kFloat32, Precision::kBfloat16, Precision::kInt8}) {
    AddMatrix(ops::FormatFor(precision, DataType::kFloat), weights);
  }
  AddIntegers(weights);
  for (const int bits : {2, 4, 8}) AddCodes(bits, weights);
  const std::filesystem::path path = folder / "written";
  for (const auto& [key, weight] : weights) {
    cache::WritePackedFile(path.string(), kSeedContent, {{key, weight}}).IgnoreError();
    WriteSeed(folder / absl::StrCat("packed", key[0], "-", key[3], "-", key[4]),
              "\2" + ReadSeed(path));
  }
  cache::WritePackedFile(path.string(), kSeedContent, weights).IgnoreError();
  WriteSeed(folder / "packed", "\2" + ReadSeed(path));
  WriteSeed(folder / "trusted", "\6" + ReadSeed(path));
  cache::SourceStamp stamp;
  stamp.path = "/models/m.onnx";
  stamp.files = {{1, 2, 3, 4}, {5, 6, 7, 8}};
  stamp.panel_width = 16;
  cache::WriteSourceStamp(path.string(), stamp).IgnoreError();
  WriteSeed(folder / "stamp", "\3" + ReadSeed(path));
  std::filesystem::remove(path);
}

}  // namespace attnrun::testing

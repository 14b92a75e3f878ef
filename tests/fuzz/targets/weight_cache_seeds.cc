// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "fuzz/targets/cache_seeds.h"
#include "fuzz/targets/seeds.h"
#include "ops/gemm/packed_matrix.h"
#include "weight_cache/packed_file.h"
#include "weight_cache/source_stamp.h"

namespace attnrun::testing {
namespace {

ops::PackedBytes Packed(int64_t rows, int64_t columns) {
  const std::vector<float> weight(rows * columns, 0.5F);
  return ops::PackedMatrix::Pack({weight.data(), rows, columns, columns}).value()->bytes();
}

}  // namespace

// The first byte of each seed asks for valid checksums of a packed file or a stamp.
void WriteSeeds(const std::filesystem::path& folder) {
  const cache::PackedWeights weights = {{{1, 2, 3}, Packed(6, 70)}, {{}, Packed(3, 7)}};
  const std::filesystem::path path = folder / "written";
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

// SPDX-License-Identifier: Apache-2.0
#include "ops/tensors/cpu.h"

#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "hwy/targets.h"

namespace attnrun::ops {
namespace {

// In the order in which ATTNRUN_MAX_ISA caps, and the names that it takes.
enum class Tier { kAvx2, kAvxVnni, kAvx512, kVnni, kBf16, kAmx };
constexpr absl::string_view kTierNames[] = {"avx2", "avx-vnni", "avx512", "vnni", "bf16", "amx"};

// The cap; nullopt for an unknown name.
std::optional<Tier> Cap() {
  const char* const text = std::getenv("ATTNRUN_MAX_ISA");
  if (text == nullptr || *text == 0) return Tier::kAmx;
  for (size_t i = 0; i < std::size(kTierNames); ++i) {
    if (kTierNames[i] == text) return static_cast<Tier>(i);
  }
  return std::nullopt;
}

struct Registers {
  uint32_t eax = 0;
  uint32_t ebx = 0;
  uint32_t ecx = 0;
  uint32_t edx = 0;
};

Registers Cpuid(uint32_t leaf, uint32_t subleaf) {
  Registers r;
  if (__get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx) == 0) return {};
  return r;
}

bool Bit(uint32_t bits, int index) { return (bits >> index & 1) != 0; }

// Reads which registers the system saves (Intel's manual, volume 1, section 13.3).
__attribute__((target("xsave"))) uint64_t SavedRegisters() {
  constexpr int kOsxsave = 27;
  return Bit(Cpuid(1, 0).ecx, kOsxsave) ? _xgetbv(0) : 0;
}

// Asks Linux for the permission to use tiles, which covers all threads of the process.
bool MayUseTiles() {
  constexpr int kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr int kTileData = 18;               // XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

// Features by CPUID (Intel's manual, volume 2, CPUID, leaf 7).
Cpu Detect(Tier most) {
  constexpr uint64_t kAvx512State = 0xE6;
  constexpr uint64_t kTileState = uint64_t{3} << 17;
  const uint64_t saved = SavedRegisters();
  const Registers leaf7 = Cpuid(7, 0);
  const Registers leaf71 = Cpuid(7, 1);
  Cpu cpu;
  const bool zmm = (saved & kAvx512State) == kAvx512State && Bit(leaf7.ebx, 16) &&
                   Bit(leaf7.ebx, 17) && Bit(leaf7.ebx, 28) && Bit(leaf7.ebx, 30) &&
                   Bit(leaf7.ebx, 31);
  cpu.avx512 = zmm && most >= Tier::kAvx512;
  cpu.vnni = cpu.avx512 ? most >= Tier::kVnni && Bit(leaf7.ecx, 11)
                        : most >= Tier::kAvxVnni && Bit(leaf71.eax, 4);
  cpu.avx512_bf16 = zmm && most >= Tier::kBf16 && Bit(leaf71.eax, 5);
  const bool tiles = zmm && most >= Tier::kAmx && (saved & kTileState) == kTileState &&
                     Bit(leaf7.edx, 24) && MayUseTiles();
  // Operands are rounded by AVX512-BF16.
  cpu.amx_bf16 = tiles && cpu.avx512_bf16 && Bit(leaf7.edx, 22);
  cpu.amx_int8 = tiles && Bit(leaf7.edx, 25);
  return cpu;
}

Cpu Initialize() {
  const Cpu cpu = Detect(Cap().value_or(Tier::kAmx));
  if (!cpu.avx512) {
    // Highway's targets beyond AVX2 have lower bits.
    hwy::DisableTargets(HWY_AVX2 - 1);
    hwy::GetChosenTarget().DeInit();
  }
  return cpu;
}

// Caps Highway before any kernel is chosen.
const bool initialized_at_start = (ThisCpu(), true);

}  // namespace

absl::Status CheckProcessor() {
  if (!Cap().has_value()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the environment variable ATTNRUN_MAX_ISA is '", std::getenv("ATTNRUN_MAX_ISA"),
        "', expected one of: ", absl::StrJoin(kTierNames, ", ")));
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "attnrun needs a processor with AVX2 and FMA (x86-64-v3), which this one lacks");
}

const Cpu& ThisCpu() {
  static const Cpu cpu = Initialize();
  return cpu;
}

std::string Cpu::Names() const {
  std::vector<absl::string_view> names = {"AVX2"};
  if (avx512) names = {"AVX-512"};
  if (vnni) names.push_back(avx512 ? "VNNI" : "AVX-VNNI");
  if (avx512_bf16) names.push_back("AVX512-BF16");
  if (amx_bf16) names.push_back("AMX-BF16");
  if (amx_int8) names.push_back("AMX-INT8");
  return absl::StrJoin(names, ", ");
}

}  // namespace attnrun::ops

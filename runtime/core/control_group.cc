// SPDX-License-Identifier: Apache-2.0
#include "core/control_group.h"

#include <algorithm>
#include <fstream>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace attnrun {
namespace {

std::vector<std::string> Lines(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

// A mounted tree of control groups.
struct Mount {
  bool is_version_2;
  // Names of controllers and other options.
  std::vector<std::string> options;
  // The group that is mounted, as a path from the top of the hierarchy, and where it is mounted.
  std::string group;
  std::string point;
};

// A line of mountinfo, "36 25 0:31 /group /point rw .. - cgroup source rw,memory" (proc(5)).
std::vector<Mount> ReadMounts(const std::string& root) {
  std::vector<Mount> mounts;
  for (const std::string& line : Lines(root + "/proc/self/mountinfo")) {
    const std::pair<std::string, std::string> halves =
        absl::StrSplit(line, absl::MaxSplits(" - ", 1));
    const std::vector<std::string> where = absl::StrSplit(halves.first, ' ');
    const std::vector<std::string> what = absl::StrSplit(halves.second, ' ');
    if (where.size() < 5 || what.size() < 3) continue;
    if (what[0] != "cgroup" && what[0] != "cgroup2") continue;
    mounts.push_back(
        {what[0] == "cgroup2", absl::StrSplit(what[2], ','), where[3], root + where[4]});
  }
  return mounts;
}

// The folders of a group and of those around it, the process's own first. `path` is the group's,
// from the top of the hierarchy.
std::vector<std::string> Folders(const Mount& mount, absl::string_view path) {
  const std::string above = mount.group == "/" ? "" : mount.group;
  // Without a namespace of its own, a container sees paths of the host.
  std::string inner = absl::ConsumePrefix(&path, above) ? std::string(path) : "";
  std::vector<std::string> folders;
  for (;;) {
    while (absl::EndsWith(inner, "/")) inner.pop_back();
    folders.push_back(mount.point + inner);
    if (inner.empty()) return folders;
    inner.resize(inner.rfind('/') == std::string::npos ? 0 : inner.rfind('/'));
  }
}

// Numbers at the start of a file; none where it says "max".
std::vector<double> Numbers(const std::string& path) {
  std::ifstream file(path);
  std::vector<double> numbers;
  for (double number = 0; file >> number;) numbers.push_back(number);
  return numbers;
}

void LimitCpus(double quota, double period, ControlGroupLimits& limits) {
  if (quota > 0 && period > 0) limits.cpus = std::min(limits.cpus, quota / period);
}

void LimitMemory(const std::string& path, ControlGroupLimits& limits) {
  std::ifstream file(path);
  uint64_t bytes = 0;
  if (file >> bytes) limits.memory = std::min(limits.memory, bytes);
}

void Apply(const Mount& mount, const std::string& folder, ControlGroupLimits& limits) {
  if (mount.is_version_2) {
    const std::vector<double> cpu = Numbers(folder + "/cpu.max");
    if (cpu.size() == 2) LimitCpus(cpu[0], cpu[1], limits);
    LimitMemory(folder + "/memory.max", limits);
    return;
  }
  const std::vector<double> quota = Numbers(folder + "/cpu.cfs_quota_us");
  const std::vector<double> period = Numbers(folder + "/cpu.cfs_period_us");
  if (!quota.empty() && !period.empty()) LimitCpus(quota[0], period[0], limits);
  LimitMemory(folder + "/memory.limit_in_bytes", limits);
}

}  // namespace

ControlGroupLimits ReadControlGroupLimits(const std::string& root) {
  ControlGroupLimits limits;
  const std::vector<Mount> mounts = ReadMounts(root);
  for (const std::string& line : Lines(root + "/proc/self/cgroup")) {
    // "4:cpu,memory:/path"; version 2 has no names of controllers.
    const std::vector<std::string> fields = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (fields.size() != 3) continue;
    const std::vector<std::string> controllers = absl::StrSplit(fields[1], ',');
    for (const Mount& mount : mounts) {
      const bool is_here = fields[1].empty() ? mount.is_version_2
                                             : absl::c_linear_search(mount.options, controllers[0]);
      if (!is_here) continue;
      for (const std::string& folder : Folders(mount, fields[2])) Apply(mount, folder, limits);
    }
  }
  return limits;
}

}  // namespace attnrun

// SPDX-License-Identifier: Apache-2.0
#include "core/control_group.h"

#include <gtest/gtest.h>

#include <string>

#include "support/temporary_folder.h"

namespace attnrun {
namespace {

constexpr char kVersion2[] =
    "24 1 0:20 / /proc rw - proc proc rw\n"
    "31 23 0:27 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";

// A folder with the files of a machine.
class ControlGroupTest : public ::testing::Test {
 protected:
  void Write(const std::string& path, const std::string& text) const {
    folder_.Write(path.substr(1), text);
  }
  ControlGroupLimits Read() const { return ReadControlGroupLimits(folder_.path(".")); }

 private:
  const testing::TemporaryFolder folder_;
};

TEST_F(ControlGroupTest, NothingMountedIsNoLimit) {
  EXPECT_EQ(Read().cpus, ControlGroupLimits().cpus);
  EXPECT_EQ(Read().memory, ControlGroupLimits().memory);
}

TEST_F(ControlGroupTest, TheLowestLimitOnTheWayUpHolds) {
  Write("/proc/self/mountinfo", kVersion2);
  Write("/proc/self/cgroup", "0::/system.slice/attnrun.service\n");
  const std::string slice = "/sys/fs/cgroup/system.slice";
  Write(slice + "/cpu.max", "150000 100000\n");
  Write(slice + "/memory.max", "max\n");
  Write(slice + "/attnrun.service/cpu.max", "max 100000\n");
  Write(slice + "/attnrun.service/memory.max", "1000000\n");
  EXPECT_EQ(Read().cpus, 1.5);
  EXPECT_EQ(Read().memory, 1'000'000);
  Write("/sys/fs/cgroup/memory.max", "500000\n");
  EXPECT_EQ(Read().memory, 500'000);
}

TEST_F(ControlGroupTest, AGroupBesideDoesNotCount) {
  Write("/proc/self/mountinfo", kVersion2);
  Write("/proc/self/cgroup", "0::/a\n");
  Write("/sys/fs/cgroup/b/cpu.max", "100000 100000\n");
  EXPECT_EQ(Read().cpus, ControlGroupLimits().cpus);
}

TEST_F(ControlGroupTest, ReadsVersion1) {
  Write("/proc/self/mountinfo",
        "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
        "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
  Write("/proc/self/cgroup", "4:memory:/jobs/7\n2:cpu,cpuacct:/jobs\n1:name=systemd:/other\n");
  Write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  Write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  Write("/sys/fs/cgroup/cpu,cpuacct/jobs/cpu.cfs_quota_us", "250000\n");
  Write("/sys/fs/cgroup/cpu,cpuacct/jobs/cpu.cfs_period_us", "100000\n");
  Write("/sys/fs/cgroup/memory/jobs/memory.limit_in_bytes", "9223372036854771712\n");
  Write("/sys/fs/cgroup/memory/jobs/7/memory.limit_in_bytes", "2000000\n");
  EXPECT_EQ(Read().cpus, 2.5);
  EXPECT_EQ(Read().memory, 2'000'000);
}

// A container without a namespace of its own sees the host's path of its group, and that group as
// the top of the mount.
TEST_F(ControlGroupTest, ReadsAGroupThatIsMountedItself) {
  Write("/proc/self/mountinfo", "31 23 0:27 /docker/1f /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  Write("/sys/fs/cgroup/inner/memory.max", "3000000\n");
  Write("/sys/fs/cgroup/memory.max", "4000000\n");
  Write("/proc/self/cgroup", "0::/docker/1f/inner\n");
  EXPECT_EQ(Read().memory, 3'000'000);
  Write("/proc/self/cgroup", "0::/docker/1f\n");
  EXPECT_EQ(Read().memory, 4'000'000);
  // Above the namespace.
  Write("/proc/self/cgroup", "0::/../2e\n");
  EXPECT_EQ(Read().memory, 4'000'000);
}

}  // namespace
}  // namespace attnrun

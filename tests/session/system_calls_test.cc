// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <vector>

#include "attnrun/session.h"
#include "loader/model_maker.h"
#include "session/in_child.h"

// Models and inputs have no way to the network, to other programs or to files that could be
// written. The kernel ends a process that tries.
namespace attnrun::testing {
namespace {

constexpr uint32_t kKill = SECCOMP_RET_KILL_PROCESS;
constexpr uint32_t kAllow = SECCOMP_RET_ALLOW;
constexpr uint32_t kWriting = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC;

// Ends the process at the call `number`.
void Forbid(std::vector<sock_filter>& filter, uint32_t number) {
  filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1));
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, kKill));
}

// Ends the process at the call `number` if its argument `i` has a bit of `bits`.
void ForbidBits(std::vector<sock_filter>& filter, uint32_t number, uint32_t i, uint32_t bits) {
  filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 4));
  const auto argument = static_cast<uint32_t>(offsetof(seccomp_data, args) + 8 * i);
  filter.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument));
  filter.push_back(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1));
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, kKill));
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, kAllow));
}

// False if this system has no such filters.
bool LockUp() {
  std::vector<sock_filter> filter = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  for (const uint32_t number :
       {SYS_socket, SYS_connect, SYS_bind, SYS_execve, SYS_execveat, SYS_fork, SYS_vfork,
        SYS_ptrace, SYS_unlink, SYS_unlinkat, SYS_rename, SYS_renameat, SYS_renameat2, SYS_mkdir,
        SYS_mkdirat, SYS_creat, SYS_truncate, SYS_chmod, SYS_fchmodat}) {
    Forbid(filter, number);
  }
  ForbidBits(filter, SYS_open, 1, kWriting);
  ForbidBits(filter, SYS_openat, 2, kWriting);
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, kAllow));
  sock_fprog program = {static_cast<uint16_t>(filter.size()), filter.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

bool Runs(const std::string& path, Engine engine) {
  SessionOptions options;
  options.engine = engine;
  options.threads = 2;
  const absl::StatusOr<Session> session = Session::Load(path, options);
  if (!session.ok()) return false;
  TensorMap inputs;
  inputs["x"] = *Tensor::Of<float>({2, 2}, {1, -2, 3, -4});
  return session->Run(inputs).ok();
}

TEST(SystemCallsTest, LoadsAndRunsReadAndComputeAlone) {
  if (!InChild(LockUp)) GTEST_SKIP() << "the system has no filters for system calls";
  // Without this the next expectation could not fail.
  EXPECT_FALSE(InChild([] { return LockUp() && open("/dev/null", O_WRONLY) >= 0; }));
  const TemporaryFolder folder;
  onnx::ModelProto model = SmallModel();
  onnx::TensorProto* weight = model.mutable_graph()->mutable_initializer(0);
  folder.Write("w.bin", weight->raw_data());
  weight->clear_raw_data();
  weight->set_data_location(onnx::TensorProto::EXTERNAL);
  onnx::StringStringEntryProto* location = weight->add_external_data();
  location->set_key("location");
  location->set_value("w.bin");
  const std::string path = folder.Write("m.onnx", model.SerializeAsString());
  for (const Engine engine : {Engine::kOptimized, Engine::kUnoptimized, Engine::kReference}) {
    EXPECT_TRUE(InChild([&] { return LockUp() && Runs(path, engine); }));
  }
}

}  // namespace
}  // namespace attnrun::testing

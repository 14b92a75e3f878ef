// SPDX-License-Identifier: Apache-2.0
// The commands bench and profile.
#include <csignal>

#include "absl/strings/str_cat.h"
#include "tools/command_line.h"

namespace attnrun::cli {
namespace {

using ::testing::HasSubstr;

TEST_F(CommandLineTest, BenchJsonHasThePromisedForm) {
  const nlohmann::json json = Json("bench m.onnx --runs 7 --warmup 0 --threads 2 --json");
  EXPECT_EQ(json.size(), 5);
  EXPECT_EQ(json["runs"], 7);
  EXPECT_EQ(json["threads"], 2);
  EXPECT_GT(json["load_ms"], 0);
  EXPECT_GT(json["peak_rss_mb"], 1);
  const nlohmann::json& latency = json["latency_ms"];
  EXPECT_EQ(latency.size(), 4);
  EXPECT_LE(latency["min"], latency["p50"]);
  EXPECT_LE(latency["p50"], latency["p90"]);
  EXPECT_LE(latency["p90"], latency["p99"]);
  EXPECT_THAT(Attnrun("bench m.onnx --runs 3").out, HasSubstr("latency      min "));
}

TEST_F(CommandLineTest, BenchSweepsOverExtents) {
  const nlohmann::json json = Json("bench m.onnx --sweep batch=3,1,40 --runs 2 --json");
  ASSERT_EQ(json["sweep"].size(), 3);
  EXPECT_EQ(json["sweep"][0]["batch"], 3);
  EXPECT_EQ(json["sweep"][2]["batch"], 40);
  EXPECT_GT(json["sweep"][2]["latency_ms"]["p50"], 0);
  EXPECT_THAT(Attnrun("bench m.onnx --sweep batch=7 --runs 2").out, HasSubstr("\n    7  "));
}

TEST_F(CommandLineTest, BenchStreamsComparesRequestsWithTheirRepeats) {
  const nlohmann::json json = Json("bench m.onnx --stream batch=1..9 --runs 20 --json");
  EXPECT_EQ(json["requests"], 20);
  EXPECT_GT(json["ratio"]["p50"], 0);
  EXPECT_LE(json["ratio"]["p50"], json["ratio"]["max"]);
  EXPECT_THAT(Attnrun("bench m.onnx --stream batch=1..9 --runs 3").out,
              HasSubstr("3 requests of batch 1 to 9"));
}

TEST_F(CommandLineTest, BenchMeasuresTheThroughputOfManyCallers) {
  const nlohmann::json json = Json("bench --callers 1,3 m.onnx --runs 4 --threads 1 --json");
  ASSERT_EQ(json["callers"].size(), 2);
  EXPECT_EQ(json["callers"][1]["callers"], 3);
  EXPECT_GT(json["callers"][1]["runs_per_second"], 0);
  EXPECT_THAT(Attnrun("bench m.onnx --callers 2 --runs 2").out, HasSubstr("runs/s"));
}

TEST_F(CommandLineTest, BenchComparesRequestsOfManyCallersWithThoseAlone) {
  const nlohmann::json json =
      Json("bench m.onnx --callers 3 --stream batch=1..200 --runs 40 --json");
  EXPECT_EQ(json["callers"][0]["runs"], 120);
  EXPECT_EQ(json["callers"][0]["differ"], 0);
  EXPECT_LE(json["callers"][0]["latency_ms"]["p99"], json["callers"][0]["latency_ms"]["max"]);
}

TEST_F(CommandLineTest, ProfileNamesNodesAndKernels) {
  const nlohmann::json json = Json("profile m.onnx --runs 2 --json --trace t.json");
  EXPECT_EQ(json["nodes"][0]["node"], "the_node");
  EXPECT_EQ(json["nodes"][0]["op"], "Softmax");
  EXPECT_EQ(json["nodes"][0]["reference"], false);
  const nlohmann::json trace = nlohmann::json::parse(ReadAll(folder_ / "t.json"));
  EXPECT_EQ(trace["traceEvents"][0]["args"]["node"], "the_node");
  const nlohmann::json slow = Json("profile m.onnx --runs 2 --json --engine reference");
  EXPECT_EQ(slow["ops"][0]["kernel"], "reference");
  EXPECT_GT(slow["reference_share"], 0);
  EXPECT_THAT(Attnrun("profile m.onnx --runs 1 --svg t.svg").out, HasSubstr("Softmax  the_node"));
  EXPECT_THAT(ReadAll(folder_ / "t.svg"), HasSubstr("<title>Softmax  the_node"));
}

// The outcome of a command that Ctrl+C ends while it measures.
class InterruptedTest : public CommandLineTest {
 protected:
  Outcome Interrupted(const std::string& arguments) const {
    Outcome outcome;
    // The machine may be slow: an interrupt while the model is loaded leaves nothing to print.
    for (const char* seconds : {"0.5", "2", "8", "32"}) {
      outcome = Shell(absl::StrCat("timeout --preserve-status -s INT ", seconds, " "), arguments);
      if (!outcome.out.empty()) break;
    }
    EXPECT_EQ(outcome.status, 128 + SIGINT) << arguments;
    EXPECT_THAT(outcome.err, HasSubstr("interrupted: these are the runs until then")) << arguments;
    return outcome;
  }
};

// A million runs of so many rows take a minute or more.
constexpr char kEndless[] = " --runs 1000000 --dim batch=100000";

TEST_F(InterruptedTest, BenchPrintsWhatItHasMeasured) {
  EXPECT_THAT(Interrupted(absl::StrCat("bench m.onnx", kEndless)).out,
              HasSubstr("latency      min "));
  const Outcome sweep = Interrupted("bench m.onnx --sweep batch=100000,3 --json --runs 1000000");
  const nlohmann::json rows = nlohmann::json::parse(sweep.out)["sweep"];
  ASSERT_EQ(rows.size(), 1);
  EXPECT_EQ(rows[0]["batch"], 100000);
  EXPECT_GT(rows[0]["runs"], 0);
  EXPECT_LT(rows[0]["runs"], 1000000);
  EXPECT_THAT(Interrupted(absl::StrCat("bench m.onnx --callers 1,2", kEndless)).out,
              HasSubstr("runs/s"));
  EXPECT_THAT(Interrupted("bench m.onnx --stream batch=100000..100009 --runs 1000000").out,
              HasSubstr("requests of batch 100000 to 100009"));
}

TEST_F(InterruptedTest, ProfilePrintsWhatItHasMeasured) {
  const nlohmann::json json =
      nlohmann::json::parse(Interrupted(absl::StrCat("profile m.onnx --json", kEndless)).out);
  EXPECT_GT(json["runs"], 0);
  EXPECT_LT(json["runs"], 1000000);
  EXPECT_EQ(json["nodes"][0]["node"], "the_node");
}

}  // namespace
}  // namespace attnrun::cli

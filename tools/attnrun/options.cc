// SPDX-License-Identifier: Apache-2.0
#include "tools/attnrun/options.h"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <limits>
#include <memory>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "attnrun/limits.h"
#include "tools/attnrun/contradiction.h"
#include "tools/attnrun/dim_sizes.h"
#include "tools/attnrun/generation_options.h"
#include "tools/attnrun/manual.h"
#include "tools/attnrun/model_run.h"
#include "tools/attnrun/suggestion.h"
#include "tools/attnrun/usage.h"

namespace attnrun::cli {
namespace {

// Splits "NAME=VALUE" at the first '='.
std::pair<std::string, std::string> SplitPair(const std::string& option, const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    throw CLI::ValidationError(
        absl::StrCat(option, ": expected NAME=VALUE, but found '", text, "'"));
  }
  return {text.substr(0, equals), text.substr(equals + 1)};
}

void AddFile(const std::string& text, Options& options) {
  if (!options.inputs.files.insert(SplitPair("--input", text)).second) {
    throw CLI::ValidationError(absl::StrCat("--input ", text, ": given twice"));
  }
}

int64_t ReadExtent(const std::string& option, absl::string_view number) {
  int64_t extent = 0;
  if (absl::SimpleAtoi(number, &extent) && extent >= 0 && extent <= DimSizes::kLargest) {
    return extent;
  }
  throw CLI::ValidationError(
      absl::StrCat(option, ": expected a number from 0 to 2^40, but found ", number));
}

void AddDim(const std::string& text, Options& options) {
  const auto [name, number] = SplitPair("--dim", text);
  if (!options.inputs.dims.emplace(name, ReadExtent("--dim " + name, number)).second) {
    throw CLI::ValidationError(absl::StrCat("--dim ", name, ": given twice"));
  }
}

void SetSweep(const std::string& text, Options& options) {
  const auto [name, numbers] = SplitPair("--sweep", text);
  Sweep sweep{name, {}};
  for (const absl::string_view number : absl::StrSplit(numbers, ',')) {
    sweep.extents.push_back(ReadExtent("--sweep " + name, number));
  }
  options.sweep = std::move(sweep);
}

void SetStream(const std::string& text, Options& options) {
  const auto [name, range] = SplitPair("--stream", text);
  const std::vector<std::string> ends = absl::StrSplit(range, absl::MaxSplits("..", 1));
  if (ends.size() != 2) {
    throw CLI::ValidationError(
        absl::StrCat("--stream ", name, ": expected LOW..HIGH, but found '", range, "'"));
  }
  const std::string option = "--stream " + name;
  options.stream = {name, ReadExtent(option, ends[0]), ReadExtent(option, ends[1])};
  if (options.stream->low > options.stream->high) {
    throw CLI::ValidationError(absl::StrCat(option, ": ", range, " is empty"));
  }
}

void SetCallers(const std::string& text, Options& options) {
  for (const absl::string_view number : absl::StrSplit(text, ',')) {
    constexpr int kMost = 1024;
    int callers = 0;
    if (!absl::SimpleAtoi(number, &callers) || callers < 1 || callers > kMost) {
      throw CLI::ValidationError(
          absl::StrCat("--callers: expected numbers from 1 to ", kMost, ", but found ", number));
    }
    options.callers.push_back(callers);
  }
}

// Adds an option that may be repeated and takes one value each time.
template <typename Add>
CLI::Option* AddRepeated(CLI::App& app, Options& options, const std::string& name, Add add,
                         const std::string& description) {
  const auto add_all = [&options, add](const std::vector<std::string>& values) {
    for (const std::string& value : values) add(value, options);
  };
  return app
      .add_option_function<std::vector<std::string>>(name, add_all,
                                                     description + "; may be repeated")
      ->allow_extra_args(false);
}

// Adds an option for a path, which is not empty, as of a variable of a script that is not set.
CLI::Option* AddPath(CLI::App& app, const std::string& name, std::string& path,
                     const std::string& type, const std::string& description) {
  const CLI::Validator given(
      [](const std::string& text) {
        return text.empty() ? std::string("the path is empty") : std::string();
      },
      "");
  return app.add_option(name, path, description)->check(given)->type_name(type);
}

void AddInputOptions(CLI::App& app, Options& options) {
  AddRepeated(app, options, "--input", AddFile,
              "An input from a file, .npy or .pb (ONNX TensorProto)")
      ->type_name("NAME=FILE");
  AddPath(app, "--inputs", options.inputs.archive, "FILE|DIR",
          "All inputs: an .npz with one array per input (x/0, x/1 for a sequence x), or an ONNX "
          "test data folder");
  AddRepeated(app, options, "--dim", AddDim,
              "The extent of a symbolic dimension of generated inputs")
      ->type_name("NAME=N");
  app.add_option("--seed", options.inputs.seed, "Seed of generated inputs; 0 if not given")
      ->type_name("N");
}

void SetEngine(const std::string& name, Options& options) {
  for (const Engine engine : {Engine::kOptimized, Engine::kUnoptimized, Engine::kReference}) {
    if (EngineName(engine) == name) {
      options.session.engine = engine;
      return;
    }
  }
  throw CLI::ValidationError(absl::StrCat(
      "--engine: expected optimized, unoptimized or reference, but found '", name, "'"));
}

void SetPrecision(const std::string& name, Options& options) {
  const absl::StatusOr<Precision> precision = PrecisionOf(name);
  if (!precision.ok()) {
    throw CLI::ValidationError(absl::StrCat("--precision: ", precision.status().message()));
  }
  options.session.precision = *precision;
}

CLI::Validator IsPass() {
  return CLI::Validator(
      [](const std::string& name) {
        const std::vector<std::string> passes = OptimizerPasses();
        if (absl::c_linear_search(passes, name)) return std::string();
        return absl::StrCat("there is no pass '", name, "'", Suggestion(name, passes),
                            " (attnrun passes lists them)");
      },
      "");
}

void AddRunLimits(CLI::App& app, Options& options) {
  app.add_option("--timeout", options.timeout, "Seconds after which a run ends with an error")
      ->check(CLI::Range(1e-3, 1e9).description(""))
      ->type_name("SECONDS");
  app.add_option_function<int64_t>(
         "--memory-limit",
         [&](int64_t megabytes) {
           const int64_t bytes = megabytes << 20;
           options.session.limits.run_bytes = bytes;
           // Weights count, too.
           SetHeapLimit(std::max(HeapLimit(), bytes));
         },
         "Megabytes that the tensors of a run may take; by default half of the machine's")
      ->check(CLI::Range(1, 1 << 30).description(""))
      ->type_name("MB");
}

void AddSessionOptions(CLI::App& app, Options& options) {
  app.add_option_function<std::string>(
         "--engine", [&options](const std::string& name) { SetEngine(name, options); },
         "optimized (default), unoptimized (kernels, no rewrites) or reference (slow)")
      ->type_name("ENGINE");
  app.add_option_function<std::string>(
         "--precision", [&options](const std::string& name) { SetPrecision(name, options); },
         "Arithmetic of products: float32 (default), bf16 (lossy; faster with AMX), int8 (lossy; "
         "faster with VNNI or AMX) or int8-activations (lossy; for 4-bit weights)")
      ->type_name("PRECISION");
  app.add_option("--threads", options.session.threads, "Threads; by default all usable CPUs")
      ->check(CLI::Range(1, 1024).description(""))
      ->type_name("N");
  AddRepeated(
      app, options, "--disable",
      [](const std::string& pass, Options& all) { all.session.disabled_passes.push_back(pass); },
      "Skip an optimizer pass")
      ->check(IsPass())
      ->type_name("PASS");
  app.add_option("--stop-after", options.session.stop_after, "The last optimizer pass to apply")
      ->check(IsPass())
      ->type_name("PASS");
  app.add_option("--max-rewrites", options.session.max_rewrites,
                 "How many rewrites to apply, in the order of fusions --json; all by default")
      ->check(CLI::Range(int64_t{0}, std::numeric_limits<int64_t>::max()).description(""))
      ->type_name("N");
  AddPath(app, "--weight-cache", options.session.weight_cache, "DIR",
          "Keep packed weights in this directory and map them at the next start");
  app.add_flag("--verify-weight-cache", options.session.verify_weight_cache,
               "Check all packed weights, even if no time or size of a file has changed")
      ->needs("--weight-cache");
  app.add_flag_callback(
      "--no-mmap", [&options] { options.session.map_files = false; },
      "Copy the model into memory, so that its files may change while it runs");
}

void AddExpectOptions(CLI::App& app, Options& options) {
  AddPath(app, "--output", options.output, "FILE.npz", "Write the outputs, one array per output");
  AddPath(app, "--expect", options.expect, "FILE|DIR",
          "Compare the outputs with an .npz or the folder of an ONNX test data set");
  const CLI::Validator finite(
      [](const std::string& text) {
        double value = 0;
        const bool good = absl::SimpleAtod(text, &value) && std::isfinite(value) && value >= 0;
        return good ? std::string()
                    : absl::StrCat("expected a number of at least 0, but found ", text);
      },
      "");
  app.add_option(
         "--rtol", options.tolerance.rtol,
         "Allow |difference| <= atol + rtol x |expected|; without both, 1e-4 (float16: 2e-3) "
         "x max(1, largest expected magnitude), and integers must be equal; compare allows floats "
         "that come from float16 as much as float16; compare --precision allows any difference "
         "without both")
      ->check(finite)
      ->type_name("R");
  app.add_option("--atol", options.tolerance.atol, "See --rtol")->check(finite)->type_name("A");
}

void AddRepeatOptions(CLI::App& app, Options& options, const std::string& default_runs) {
  app.add_option("--runs", options.runs, absl::StrCat("Runs to measure; ", default_runs))
      ->check(CLI::Range(1, 1000000).description(""))
      ->type_name("N");
  app.add_option("--warmup", options.warmup, "Warm-up runs before those")
      ->check(CLI::Range(0, 1000000).description(""))
      ->type_name("N");
}

// Adds --generate and what belongs to it; returns the first.
CLI::Option* AddGenerationBench(CLI::App& app, Options& options) {
  const auto bench = [&options]() -> GenerationBench& {
    if (!options.generation_bench.has_value()) options.generation_bench.emplace();
    return *options.generation_bench;
  };
  CLI::Option* generate = app.add_flag_function(
      "--generate", [bench](int64_t) { bench(); },
      "MODEL is a decoder or its folder: measure prompts and new tokens, 5 runs by default");
  const auto add = [&](const char* name, int64_t GenerationBench::* member,
                       const std::string& description) {
    app.add_option_function<int64_t>(
           name, [bench, member](int64_t tokens) { bench().*member = tokens; }, description)
        ->needs(generate)
        ->check(CLI::Range(int64_t{2}, int64_t{1} << 20).description(""))
        ->type_name("N");
  };
  add("--prompt-tokens", &GenerationBench::prompt_tokens, "Ids of the prompt; 128 by default");
  add("--new-tokens", &GenerationBench::new_tokens, "New tokens; 64 by default");
  return generate;
}

void SetCacheType(const std::string& name, Options& options) {
  const std::map<std::string, DataType> types = {{"float32", DataType::kFloat},
                                                 {"float16", DataType::kFloat16},
                                                 {"bfloat16", DataType::kBfloat16},
                                                 {"int8", DataType::kInt8}};
  const auto type = types.find(name);
  if (type == types.end()) {
    throw CLI::ValidationError(absl::StrCat(
        "--cache-type: expected float32, float16, bfloat16 or int8, but found '", name, "'"));
  }
  options.session.cache_type = type->second;
}

CLI::Option* AddCacheType(CLI::App& app, Options& options) {
  return app
      .add_option_function<std::string>(
          "--cache-type", [&options](const std::string& name) { SetCacheType(name, options); },
          "Keep keys and values as float32 (default), or, lossy, as float16 or bfloat16 (half the "
          "memory) or int8 (about a quarter)")
      ->type_name("TYPE");
}

void AddBenchModes(CLI::App& app, Options& options) {
  CLI::Option* sweep = app.add_option_function<std::string>(
      "--sweep", [&options](const std::string& text) { SetSweep(text, options); },
      "Measure each of these extents of a symbolic dimension");
  CLI::Option* stream = app.add_option_function<std::string>(
      "--stream", [&options](const std::string& text) { SetStream(text, options); },
      "Measure requests of random extents (--runs of them, 200 by default), each against repeated "
      "runs of its extent; with --callers, the extents of their requests");
  CLI::Option* callers = app.add_option_function<std::string>(
      "--callers", [&options](const std::string& text) { SetCallers(text, options); },
      "Measure with these numbers of threads that run the model at once, each --runs times: 1,2,4. "
      "The exit status is 1 if an output has other bits than that of its request alone");
  CLI::Option* generation = AddGenerationBench(app, options);
  generation->excludes(sweep)->excludes(stream)->excludes(callers);
  AddCacheType(app, options)->needs(generation);
  callers->type_name("N,N,...");
  sweep->type_name("NAME=N,N,...")->excludes(stream)->excludes(callers);
  stream->type_name("NAME=LOW..HIGH");
}

void AddGenerateCommand(CLI::App& app, Options& options) {
  CLI::App& command = *app.add_subcommand("generate", "Generate tokens with a decoder");
  command.add_flag("--json", options.json, "Print JSON");
  command
      .add_option("MODEL|FOLDER", options.model,
                  "A decoder (.onnx), or a folder with one and its configuration")
      ->required()
      ->type_name("");
  AddGenerationOptions(command, options.generation);
  AddRepeated(command, options, "--input", AddFile,
              "An input of the encoder from a file, .npy or .pb, with a row for each request")
      ->type_name("NAME=FILE");
  AddSessionOptions(command, options);
  AddCacheType(command, options);
}

// Adds a command; all but `ops` take a model.
CLI::App& AddCommand(CLI::App& app, Options& options, const std::string& name,
                     const std::string& description) {
  CLI::App& command = *app.add_subcommand(name, description);
  command.add_flag("--json", options.json, "Print JSON");
  if (name == "ops" || name == "passes") return command;
  command.add_option("MODEL", options.model, "An .onnx file")->required()->type_name("");
  if (name == "inspect") return command;
  if (name != "fusions") AddInputOptions(command, options);
  AddSessionOptions(command, options);
  if (name != "fusions") AddRunLimits(command, options);
  return command;
}

void AddCommands(CLI::App& app, Options& options) {
  AddExpectOptions(
      AddCommand(app, options, "run", "Run once and show inputs, outputs and time (the default)"),
      options);
  AddCommand(app, options, "inspect", "Inputs, outputs, opsets, operators, parameters");
  CLI::App& fusions =
      AddCommand(app, options, "fusions",
                 "Rewrites, near misses and their reasons, operators before and after");
  AddPath(fusions, "--dot", options.dot, "FILE", "Draw the graph before and after (Graphviz)");
  fusions.add_flag("--graph", options.graph, "Print the optimized graph, one node per line");
  AddExpectOptions(AddCommand(app, options, "compare",
                              "Compare with the reference engine value by value, or with --expect; "
                              "a lower --precision with float32, layer by layer"),
                   options);
  CLI::App& bench = AddCommand(app, options, "bench", "Latency, load time and peak memory");
  AddRepeatOptions(bench, options, "by default as many as fit into 10 s, but 10 to 100");
  AddBenchModes(bench, options);
  CLI::App& profile =
      AddCommand(app, options, "profile", "Time per node and operator, kernels, share of peak");
  AddRepeatOptions(profile, options, "10 by default");
  AddPath(profile, "--trace", options.trace, "FILE", "Write the last run as a Chrome trace");
  AddPath(profile, "--svg", options.svg, "FILE",
          "Draw the time of each node, one line per layer (SVG)");
  AddGenerateCommand(app, options);
  // Not listed: for packages.
  app.add_subcommand("manual", "Print the manual page")->group("");
  app.add_subcommand("completion", "Print a script for bash")->group("");
  AddCommand(app, options, "ops", "List the operators that attnrun runs, and their versions");
  AddCommand(app, options, "passes", "List what the optimizer rewrites, phase by phase");
}

// The exit status of what was printed to standard output.
int Printed(int status) {
  if (std::cout.flush()) return status;
  std::cerr << "attnrun: standard output cannot be written\n";
  return kInvalid;
}

// The arguments, with the default command inserted if it is left out, in CLI11's order: last first.
std::vector<std::string> Arguments(int argc, const char* const* argv, const CLI::App& app) {
  std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
  if (!arguments.empty() && arguments[0] == "help") arguments[0] = "--help";
  const bool complete = arguments.empty() || IsCommand(app, arguments[0]) ||
                        app.get_option_no_throw(arguments[0]) != nullptr;
  if (!complete) arguments.insert(arguments.begin(), "run");
  std::reverse(arguments.begin(), arguments.end());
  return arguments;
}

}  // namespace

std::optional<int> ParseOptions(int argc, const char* const* argv, Options& options) {
  CLI::App app("Runs exported transformer models (ONNX) on x86-64 CPUs.", "attnrun");
  app.set_version_flag("--version", absl::StrCat("attnrun ", Version(),
                                                 "\ninstruction sets: ", UsedInstructionSets()));
  app.formatter(std::make_shared<WrappedHelp>());
  app.require_subcommand(1);
  app.footer(
      "attnrun MODEL is attnrun run MODEL; attnrun COMMAND --help lists its options.\n"
      "Exit status: 0 fine; 1 a comparison failed; 2 bad usage; 3 the model or an\n"
      "input is invalid or unsupported, or an output cannot be written.");
  AddCommands(app, options);
  try {
    app.parse(Arguments(argc, argv, app));
    options.command = app.get_subcommands().front()->get_name();
    if (options.command == "manual" || options.command == "completion") {
      std::cout << (options.command == "manual" ? ManualPage(app) : BashCompletion(app));
      return Printed(kFine);
    }
    const std::string contradiction = Contradiction(options);
    if (!contradiction.empty()) throw CLI::ValidationError(contradiction);
  } catch (const CLI::Success& success) {
    return Printed(app.exit(success));
  } catch (const CLI::ParseError& error) {
    std::cerr << "attnrun: " << ExplainUsage(app, argc > 1 ? argv[1] : "", error)
              << " (attnrun --help lists commands and options)\n";
    return kBadUsage;
  }
  return std::nullopt;
}

}  // namespace attnrun::cli

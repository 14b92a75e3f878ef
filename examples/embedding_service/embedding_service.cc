// SPDX-License-Identifier: Apache-2.0
// An HTTP service for an embedding model on attnrun's C++ API, in one file. README.md has the
// routes and says how requests of different lengths share the cores.
#include <httplib.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <deque>
#include <future>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/time/clock.h"
#include "attnrun/session.h"

namespace {

using Json = nlohmann::json;
using Ids = std::vector<int64_t>;

struct Options {
  std::string model;
  std::string weight_cache;
  int port = 8080;  // 0: any that is free
  int threads = 1;  // per run
  int workers = 0;  // runs at once; 0: as many as the processors hold
  int queue = 256;  // sequences that may wait
  int batch = 8;    // sequences in a run
  int timeout_ms = 10000;
};

// ---- Metrics, in Prometheus' text format ----

class Histogram {
 public:
  void Add(double value) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (size_t i = 0; i < kBounds.size(); ++i) counts_[i] += value <= kBounds[i] ? 1 : 0;
    ++count_;
    sum_ += value;
  }
  void Write(const std::string& name, std::ostream& out) {
    const std::lock_guard<std::mutex> lock(mutex_);
    out << "# TYPE " << name << " histogram\n";
    for (size_t i = 0; i < kBounds.size(); ++i) {
      out << name << "_bucket{le=\"" << kBounds[i] << "\"} " << counts_[i] << "\n";
    }
    out << name << "_bucket{le=\"+Inf\"} " << count_ << "\n"
        << name << "_sum " << sum_ << "\n"
        << name << "_count " << count_ << "\n";
  }

 private:
  static constexpr std::array<double, 10> kBounds = {0.001, 0.0025, 0.005, 0.01, 0.025,
                                                     0.05,  0.1,    0.25,  1,    5};
  std::mutex mutex_;
  std::array<int64_t, kBounds.size()> counts_ = {};
  int64_t count_ = 0;
  double sum_ = 0;
};

// Answers by status.
class Responses {
 public:
  void Add(int status) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++counts_[status];
  }
  void Write(const std::string& name, std::ostream& out) {
    const std::lock_guard<std::mutex> lock(mutex_);
    out << "# TYPE " << name << " counter\n";
    for (const auto& [status, count] : counts_) {
      out << name << "{code=\"" << status << "\"} " << count << "\n";
    }
  }

 private:
  std::mutex mutex_;
  std::map<int, int64_t> counts_ = {{200, 0}, {400, 0}, {500, 0}, {503, 0}, {504, 0}};
};

struct Metrics {
  std::atomic<int64_t> sequences = 0;
  std::atomic<int64_t> runs = 0;
  std::atomic<int64_t> active = 0;  // requests being handled
  Responses responses;
  Histogram seconds;
};

// ---- The queue, and the threads that run the model ----

struct Job {
  attnrun::Request request;
  absl::Time deadline;
  std::promise<absl::StatusOr<attnrun::TensorMap>> result;
};
using Jobs = std::vector<std::unique_ptr<Job>>;

// Runs jobs in the order in which they came, as many together as have come and make a batch. The
// results are the same bits as those of a run alone.
class Runner {
 public:
  Runner(attnrun::Session session, const Options& options, Metrics& metrics)
      : session_(std::move(session)), options_(options), metrics_(metrics) {
    const int cores = static_cast<int>(std::thread::hardware_concurrency());
    const int workers =
        options.workers > 0 ? options.workers : std::max(1, cores / session_.threads());
    for (int i = 0; i < workers; ++i) threads_.emplace_back([this] { Work(); });
  }

  // Ends when all jobs are done.
  ~Runner() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      ended_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  // False, and no job is taken, if they do not all fit into the queue.
  bool Submit(Jobs jobs) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (queue_.size() + jobs.size() > static_cast<size_t>(options_.queue)) return false;
      for (std::unique_ptr<Job>& job : jobs) queue_.push_back(std::move(job));
    }
    changed_.notify_all();
    return true;
  }

  size_t waiting() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return queue_.size();
  }
  const attnrun::Session& session() const { return session_; }

 private:
  void Work() {
    for (Jobs jobs = Take(); !jobs.empty(); jobs = Take()) {
      const absl::Time now = absl::Now();
      Jobs in_time;
      for (std::unique_ptr<Job>& job : jobs) {
        if (job->deadline > now) {
          in_time.push_back(std::move(job));
        } else {
          job->result.set_value(absl::DeadlineExceededError("the time passed in the queue"));
        }
      }
      if (!in_time.empty()) RunAll(std::move(in_time));
    }
  }

  // The first jobs, up to a batch. Empty at the end.
  Jobs Take() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return ended_ || !queue_.empty(); });
    Jobs jobs;
    while (!queue_.empty() && jobs.size() < static_cast<size_t>(options_.batch)) {
      jobs.push_back(std::move(queue_.front()));
      queue_.pop_front();
    }
    return jobs;
  }

  void RunAll(Jobs jobs) {
    ++metrics_.runs;
    std::vector<attnrun::Request> requests;
    attnrun::RunOptions options;
    options.deadline = absl::InfinitePast();
    for (const std::unique_ptr<Job>& job : jobs) {
      requests.push_back(job->request);
      options.deadline = std::max(options.deadline, job->deadline);
    }
    auto results = session_.RunTogether(requests, options);
    if (results.ok()) {
      for (size_t i = 0; i < jobs.size(); ++i) jobs[i]->result.set_value(std::move((*results)[i]));
    } else if (jobs.size() == 1) {
      jobs[0]->result.set_value(results.status());
    } else {
      // One request may be wrong, and the others must not suffer for it.
      for (std::unique_ptr<Job>& job : jobs) {
        Jobs alone;
        alone.push_back(std::move(job));
        RunAll(std::move(alone));
      }
    }
  }

  const attnrun::Session session_;
  const Options options_;
  Metrics& metrics_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::unique_ptr<Job>> queue_;
  bool ended_ = false;
  std::vector<std::thread> threads_;
};

// ---- JSON ----

absl::StatusOr<attnrun::Tensor> ReadTensor(const attnrun::ValueInfo& info, const Json& json) {
  const Json& extents = json.at("shape");
  const bool whole = std::all_of(extents.begin(), extents.end(),
                                 [](const Json& extent) { return extent.is_number_integer(); });
  if (!whole) return absl::InvalidArgumentError("a shape is no list of integers");
  const auto shape = extents.get<std::vector<int64_t>>();
  if (info.type == attnrun::DataType::kInt64) {
    return attnrun::Tensor::Of<int64_t>(shape, json.at("data").get<Ids>());
  }
  if (info.type == attnrun::DataType::kFloat) {
    return attnrun::Tensor::Of<float>(shape, json.at("data").get<std::vector<float>>());
  }
  return absl::UnimplementedError("input '" + info.name + "' is neither float nor int64");
}

Json TensorJson(const attnrun::Tensor& tensor) {
  const attnrun::Tensor dense = *tensor.Dense();
  Json data;
  const auto count = static_cast<size_t>(dense.num_elements());
  if (dense.type() == attnrun::DataType::kFloat) {
    data = std::vector<float>(dense.data<float>(), dense.data<float>() + count);
  } else if (dense.type() == attnrun::DataType::kInt64) {
    data = Ids(dense.data<int64_t>(), dense.data<int64_t>() + count);
  }
  return {{"type", std::string(attnrun::Name(dense.type()))},
          {"shape", std::vector<int64_t>(dense.shape().begin(), dense.shape().end())},
          {"data", data}};
}

absl::StatusOr<Ids> ReadIds(const Json& json) {
  const bool are_ids =
      json.is_array() && std::all_of(json.begin(), json.end(), [](const Json& id) {
        // Beyond it the number would wrap around.
        constexpr auto kLargest = std::numeric_limits<int64_t>::max();
        return id.is_number_unsigned() ? id.get<uint64_t>() <= kLargest : id.is_number_integer();
      });
  if (!are_ids) return absl::InvalidArgumentError("a sequence of input_ids is no list of integers");
  return json.get<Ids>();
}

// The ids of one sequence, and the other inputs that encoders have beside them.
absl::StatusOr<attnrun::TensorMap> EncoderInputs(const attnrun::Session& session, const Ids& ids) {
  if (ids.empty()) return absl::InvalidArgumentError("a sequence has no ids");
  const attnrun::Shape shape = {1, static_cast<int64_t>(ids.size())};
  attnrun::TensorMap inputs;
  for (const attnrun::ValueInfo& info : session.inputs()) {
    Ids elements(ids.size(), info.name == "attention_mask" ? 1 : 0);
    if (info.name == "input_ids") elements = ids;
    if (info.name == "position_ids") std::iota(elements.begin(), elements.end(), 0);
    auto tensor = attnrun::Tensor::Of<int64_t>(shape, elements);
    if (!tensor.ok()) return tensor.status();
    inputs[info.name] = *std::move(tensor);
  }
  return inputs;
}

// The embedding of a sequence: the mean over its positions of [1, length, size], or [1, size] as it
// is; of length 1.
absl::StatusOr<std::vector<float>> Embedding(const attnrun::Tensor& result) {
  if (result.type() != attnrun::DataType::kFloat || result.rank() < 2) {
    return absl::UnimplementedError(
        "expected an output float[1,length,size] or float[1,size], but it is " +
        attnrun::TypeAndShape(result));
  }
  const attnrun::Tensor dense = *result.Dense();
  const auto size = static_cast<size_t>(dense.dim(dense.rank() - 1));
  std::vector<float> mean(size, 0);
  for (int64_t i = 0; i < dense.num_elements(); ++i) mean[i % size] += dense.data<float>()[i];
  float square = 0;
  for (const float element : mean) square += element * element;
  for (float& element : mean) element /= std::sqrt(std::max(square, 1e-12F));
  return mean;
}

// ---- HTTP ----

int HttpStatus(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return 200;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kUnimplemented:
      return 400;
    case absl::StatusCode::kDeadlineExceeded:
      return 504;
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kUnavailable:
      return 503;
    default:
      return 500;
  }
}

class Service {
 public:
  Service(attnrun::Session session, const Options& options)
      : options_(options), runner_(std::move(session), options, metrics_) {
    // Each request that waits holds a thread; the rest answer 503.
    server_.new_task_queue = [count = options.queue + 64] {
      return new httplib::ThreadPool(count);
    };
    server_.set_payload_max_length(size_t{16} << 20);
    server_.set_tcp_nodelay(true);
    server_.Post("/embed", Answer([this](const Json& json) { return Embed(json); }));
    server_.Post("/run", Answer([this](const Json& json) { return Run(json); }));
    server_.Get("/health", [this](const httplib::Request&, httplib::Response& response) {
      response.status = draining_ ? 503 : 200;
      response.set_content(draining_ ? "draining\n" : "ok\n", "text/plain");
    });
    server_.Get("/metrics", [this](const httplib::Request&, httplib::Response& response) {
      response.set_content(MetricsText(), "text/plain; version=0.0.4");
    });
  }

  // Serves until Drain() has ended. False if the port cannot be had.
  bool Serve() {
    const bool any = options_.port == 0;
    const int port = any ? server_.bind_to_any_port("127.0.0.1") : options_.port;
    if (port < 0 || (!any && !server_.bind_to_port("127.0.0.1", port))) {
      server_.decommission();
      return false;
    }
    std::cout << "listening on 127.0.0.1:" << port << std::endl;
    return server_.listen_after_bind();
  }

  // Refuses new requests with 503, waits until all that were accepted are answered, then until none
  // has come for a while, at most some seconds, and ends Serve().
  void Drain() {
    server_.wait_until_ready();
    draining_ = true;
    constexpr auto kStep = std::chrono::milliseconds(20);
    while (accepted_ > 0) std::this_thread::sleep_for(kStep);
    constexpr int kQuietSteps = 20;
    constexpr int kMostSteps = 250;
    for (int quiet = 0, steps = 0; quiet < kQuietSteps && steps < kMostSteps; ++quiet, ++steps) {
      const int64_t before = answered_;
      std::this_thread::sleep_for(kStep);
      if (metrics_.active > 0 || answered_ != before) quiet = -1;
    }
    server_.stop();
  }

 private:
  using Handler = std::function<absl::StatusOr<Json>(const Json&)>;

  httplib::Server::Handler Answer(Handler handle) {
    return [this, handle](const httplib::Request& request, httplib::Response& response) {
      ++metrics_.active;
      const absl::Time start = absl::Now();
      const absl::StatusOr<Json> answer = Handle(handle, request.body);
      response.status = HttpStatus(answer.status());
      const Json json =
          answer.ok() ? *answer : Json{{"error", std::string(answer.status().message())}};
      response.set_content(json.dump(-1, ' ', false, Json::error_handler_t::replace),
                           "application/json");
      if (draining_) response.set_header("Connection", "close");
      metrics_.responses.Add(response.status);
      metrics_.seconds.Add(absl::ToDoubleSeconds(absl::Now() - start));
      ++answered_;
      --metrics_.active;
    };
  }

  absl::StatusOr<Json> Handle(const Handler& handle, const std::string& body) {
    // Counted before it is asked whether the service drains, so that none is missed.
    ++accepted_;
    const std::shared_ptr<void> end(nullptr, [this](void*) { --accepted_; });
    if (draining_) return absl::UnavailableError("the service is shutting down");
    try {
      return handle(Json::parse(body));
    } catch (const Json::exception& error) {
      return absl::InvalidArgumentError(error.what());
    } catch (const std::exception& error) {
      return absl::InternalError(error.what());
    }
  }

  // Puts the jobs into the queue and waits for all of them.
  absl::StatusOr<std::vector<attnrun::TensorMap>> Results(Jobs jobs) {
    std::vector<std::future<absl::StatusOr<attnrun::TensorMap>>> futures;
    for (const std::unique_ptr<Job>& job : jobs) {
      job->deadline = absl::Now() + absl::Milliseconds(options_.timeout_ms);
      futures.push_back(job->result.get_future());
    }
    if (!runner_.Submit(std::move(jobs))) return absl::UnavailableError("the queue is full");
    std::vector<attnrun::TensorMap> results;
    absl::Status first;
    for (auto& future : futures) {
      absl::StatusOr<attnrun::TensorMap> result = future.get();
      first.Update(result.status());
      if (result.ok()) results.push_back(*std::move(result));
    }
    if (!first.ok()) return first;
    return results;
  }

  // {"input_ids": [[...], ...]} gives {"embeddings": [[...], ...]}.
  absl::StatusOr<Json> Embed(const Json& json) {
    Jobs jobs;
    if (!json.at("input_ids").is_array()) return absl::InvalidArgumentError("input_ids is no list");
    for (const Json& sequence : json["input_ids"]) {
      const auto ids = ReadIds(sequence);
      if (!ids.ok()) return ids.status();
      auto inputs = EncoderInputs(runner_.session(), *ids);
      if (!inputs.ok()) return inputs.status();
      jobs.push_back(std::make_unique<Job>());
      jobs.back()->request.inputs = *std::move(inputs);
    }
    metrics_.sequences += static_cast<int64_t>(jobs.size());
    const auto results = Results(std::move(jobs));
    if (!results.ok()) return results.status();
    Json embeddings = Json::array();
    for (const attnrun::TensorMap& result : *results) {
      auto embedding = Embedding(result.at(runner_.session().outputs()[0].name));
      if (!embedding.ok()) return embedding.status();
      embeddings.push_back(*std::move(embedding));
    }
    return Json{{"embeddings", embeddings}};
  }

  // {"inputs": {NAME: {"shape": [...], "data": [...]}}} gives {"outputs": {NAME: {...}}}.
  absl::StatusOr<Json> Run(const Json& json) {
    Jobs jobs;
    jobs.push_back(std::make_unique<Job>());
    for (const attnrun::ValueInfo& info : runner_.session().inputs()) {
      if (!json.at("inputs").contains(info.name)) continue;
      auto tensor = ReadTensor(info, json["inputs"][info.name]);
      if (!tensor.ok()) return tensor.status();
      jobs[0]->request.inputs[info.name] = *std::move(tensor);
    }
    const auto results = Results(std::move(jobs));
    if (!results.ok()) return results.status();
    Json outputs = Json::object();
    for (const auto& [name, tensor] : results->front()) outputs[name] = TensorJson(tensor);
    return Json{{"outputs", outputs}};
  }

  std::string MetricsText() {
    std::ostringstream out;
    metrics_.responses.Write("embedding_responses_total", out);
    const auto write = [&](const std::string& name, const std::string& type, int64_t value) {
      out << "# TYPE " << name << " " << type << "\n" << name << " " << value << "\n";
    };
    write("embedding_sequences_total", "counter", metrics_.sequences);
    write("embedding_runs_total", "counter", metrics_.runs);
    write("embedding_queue_length", "gauge", static_cast<int64_t>(runner_.waiting()));
    write("embedding_active_requests", "gauge", metrics_.active);
    metrics_.seconds.Write("embedding_request_seconds", out);
    return out.str();
  }

  const Options options_;
  Metrics metrics_;
  Runner runner_;
  std::atomic<bool> draining_ = false;
  std::atomic<int64_t> accepted_ = 0;
  std::atomic<int64_t> answered_ = 0;
  httplib::Server server_;
};

bool ReadOptions(int argc, char** argv, Options& options) {
  struct Number {
    int* value;
    int least;
    int most;
  };
  // A request that waits holds a thread.
  constexpr int kMostThreads = 1024;
  const std::map<std::string, Number> numbers = {
      {"--port", {&options.port, 0, 65535}},
      {"--threads", {&options.threads, 1, kMostThreads}},
      {"--workers", {&options.workers, 0, kMostThreads}},
      {"--queue", {&options.queue, 1, kMostThreads}},
      {"--batch", {&options.batch, 1, kMostThreads}},
      {"--timeout-ms", {&options.timeout_ms, 0, 3600000}}};
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto number = numbers.find(word);
    if (number == numbers.end() && word != "--weight-cache") {
      if (!options.model.empty() || word[0] == '-') return false;
      options.model = word;
      continue;
    }
    if (++i == argc) return false;
    if (number == numbers.end()) {
      options.weight_cache = argv[i];
      continue;
    }
    const auto& [value, least, most] = number->second;
    if (absl::SimpleAtoi(argv[i], value) && *value >= least && *value <= most) continue;
    std::cerr << word << ": expected a number from " << least << " to " << most << ", but found "
              << argv[i] << "\n";
    return false;
  }
  return !options.model.empty();
}

// Notes inputs that /embed cannot fill, and an output that it cannot read.
void CheckModel(const attnrun::Session& session) {
  const attnrun::ValueInfo& first = session.outputs()[0];
  const bool has_rank = !first.shape.has_value() || first.shape->size() > 1;
  if (first.type != attnrun::DataType::kFloat || !has_rank) {
    std::cerr << "note: " << first.name << " " << attnrun::TypeAndShape(first)
              << " is no embedding in float: use /run, not /embed\n";
  }
  for (const attnrun::ValueInfo& info : session.inputs()) {
    const bool is_known = info.name == "input_ids" || info.name == "attention_mask" ||
                          info.name == "token_type_ids" || info.name == "position_ids";
    if (is_known && info.type == attnrun::DataType::kInt64) continue;
    std::cerr << "note: " << info.name << " " << attnrun::TypeAndShape(info)
              << " is no input of a text encoder: use /run, not /embed\n";
  }
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!ReadOptions(argc, argv, options)) {
    std::cerr
        << "usage: embedding_service MODEL [--port N] [--threads N] [--workers N] [--queue N]\n"
           "         [--batch N] [--timeout-ms N] [--weight-cache DIR]\n";
    return 2;
  }
  // Blocked on all threads, taken by one.
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);

  attnrun::SessionOptions loading;
  loading.threads = options.threads;
  loading.weight_cache = options.weight_cache;
  absl::StatusOr<attnrun::Session> session = attnrun::Session::Load(options.model, loading);
  if (!session.ok()) return std::cerr << session.status().message() << "\n", 3;
  CheckModel(*session);
  Service service(*std::move(session), options);
  std::thread drain([&] {
    int signal = 0;
    sigwait(&ends, &signal);
    service.Drain();
  });
  const bool served = service.Serve();
  if (!served) {
    std::cerr << "port " << options.port << " cannot be had\n";
    kill(getpid(), SIGTERM);
  }
  drain.join();
  return served ? 0 : 3;
}

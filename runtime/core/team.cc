#include "core/team.h"

#include <emmintrin.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <system_error>
#include <utility>

namespace attnrun {
namespace {

thread_local bool is_inside = false;

class InsideScope {
 public:
  InsideScope() : before_(std::exchange(is_inside, true)) {}
  ~InsideScope() { is_inside = before_; }
  InsideScope(const InsideScope&) = delete;
  InsideScope& operator=(const InsideScope&) = delete;

 private:
  const bool before_;
};

constexpr int kMostPieces = 0xFFFF;
constexpr uint64_t kOneClaimed = uint64_t{1} << 16;

uint64_t Ticket(uint32_t work, int pieces) { return uint64_t{work} << 32 | pieces; }
int Claimed(uint64_t ticket) { return static_cast<int>(ticket >> 16 & kMostPieces); }
int Pieces(uint64_t ticket) { return static_cast<int>(ticket & kMostPieces); }

// Returns once `atomic` is no longer `old`: awake at first, since waking takes about as long as
// this waits.
template <typename T>
void Await(const std::atomic<T>& atomic, T old) {
  using Clock = std::chrono::steady_clock;
  constexpr auto kAwake = std::chrono::microseconds(50);
  constexpr int kPauses = 16;
  const Clock::time_point end = Clock::now() + kAwake;
  do {
    for (int i = 0; i < kPauses; ++i) {
      if (atomic.load(std::memory_order_acquire) != old) return;
      _mm_pause();
    }
  } while (Clock::now() < end);
  atomic.wait(old, std::memory_order_acquire);
}

// Teams that nobody uses, by number of threads; the one used last is the first to be used again.
struct Idle {
  std::mutex mutex;
  std::map<int, std::vector<Team*>> teams;
};

Idle& GetIdle() {
  // Never destroyed, nor are the teams: their threads may outlive static destruction.
  static auto* const idle = new Idle;
  return *idle;
}

Team* TakeIdle(int threads) {
  Idle& idle = GetIdle();
  const std::lock_guard<std::mutex> lock(idle.mutex);
  std::vector<Team*>& teams = idle.teams[threads];
  if (teams.empty()) return nullptr;
  Team* team = teams.back();
  teams.pop_back();
  return team;
}

}  // namespace

Team::Team(int threads) {
  try {
    for (int i = 1; i < threads; ++i) threads_.emplace_back([this] { Serve(); });
  } catch (const std::system_error&) {
    // The system has no more: those that there are do the work.
    return;
  }
}

bool Team::IsInside() { return is_inside; }

void Team::Run(int pieces, absl::FunctionRef<void(int)> body) {
  body_ = &body;
  unfinished_.store(pieces, std::memory_order_relaxed);
  const uint32_t work = works_.load(std::memory_order_relaxed) + 1;
  ticket_.store(Ticket(work, pieces), std::memory_order_release);
  works_.store(work, std::memory_order_release);
  works_.notify_all();
  Work();
  for (int left = unfinished_.load(std::memory_order_acquire); left > 0;
       left = unfinished_.load(std::memory_order_acquire)) {
    Await(unfinished_, left);
  }
  if (exception_ != nullptr) std::rethrow_exception(std::exchange(exception_, nullptr));
}

void Team::Serve() {
  for (uint32_t seen = 0;;) {
    Await(works_, seen);
    seen = works_.load(std::memory_order_acquire);
    Work();
  }
}

void Team::Work() {
  const InsideScope inside;
  for (int piece = Claim(); piece >= 0; piece = Claim()) {
    try {
      (*body_)(piece);
    } catch (...) {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (exception_ == nullptr) exception_ = std::current_exception();
    }
    if (unfinished_.fetch_sub(1, std::memory_order_acq_rel) == 1) unfinished_.notify_one();
  }
}

int Team::Claim() {
  uint64_t ticket = ticket_.load(std::memory_order_acquire);
  while (Claimed(ticket) < Pieces(ticket)) {
    if (ticket_.compare_exchange_weak(ticket, ticket + kOneClaimed, std::memory_order_acq_rel,
                                      std::memory_order_acquire)) {
      return Claimed(ticket);
    }
  }
  return -1;
}

TeamLease::TeamLease(int threads)
    : threads_(threads), team_([threads] {
        Team* idle = TakeIdle(threads);
        return idle != nullptr ? idle : new Team(threads);
      }()) {}

TeamLease::~TeamLease() {
  Idle& idle = GetIdle();
  const std::lock_guard<std::mutex> lock(idle.mutex);
  idle.teams[threads_].push_back(team_);
}

}  // namespace attnrun

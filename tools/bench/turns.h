// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TOOLS_BENCH_TURNS_H_
#define ATTNRUN_TOOLS_BENCH_TURNS_H_

#include <functional>

namespace attnrun::bench {

// A product to measure, or null if there is none.
using Product = std::function<void()>;

// The mean time of `times` runs.
double SecondsOf(const Product& product, int times = 1);

// The time of a run within a turn, which has as many runs as take about a millisecond: in the first
// tens of microseconds threads wake up, and caches hold other data.
double SecondsOfTurn(const Product& product);

// oneDNN's threads (libgomp's) spin for some milliseconds after their work, and would take a core
// from the next measurement.
void LetThemSleep();

}  // namespace attnrun::bench

#endif  // ATTNRUN_TOOLS_BENCH_TURNS_H_

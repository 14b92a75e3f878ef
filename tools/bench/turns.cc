// SPDX-License-Identifier: Apache-2.0
#include "bench/turns.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace attnrun::bench {

double SecondsOf(const Product& product, int times) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < times; ++i) product();
  const std::chrono::duration<double> all = std::chrono::steady_clock::now() - start;
  return all.count() / times;
}

double SecondsOfTurn(const Product& product) {
  constexpr double kTurn = 1e-3;
  product();
  const double once = SecondsOf(product);
  return SecondsOf(product, std::max(1, static_cast<int>(kTurn / once)));
}

void LetThemSleep() { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }

}  // namespace attnrun::bench

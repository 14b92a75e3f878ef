// SPDX-License-Identifier: Apache-2.0
#include "tools/attnrun/worst.h"

#include <algorithm>

namespace attnrun::cli {

Worst FindWorst(size_t count, ByElement difference, ByElement allowed) {
  Worst worst;
  for (size_t i = 0; i < count; ++i) {
    const double distance = difference(i);
    const double limit = allowed(i);
    worst.largest = std::max(worst.largest, distance);
    if (distance > limit) ++worst.beyond;
    if (distance - limit > worst.furthest) {
      worst.furthest = distance - limit;
      worst.place = i;
      worst.allowed = limit;
    }
  }
  return worst;
}

void Join(Worst& worst, const Worst& piece, size_t before) {
  worst.largest = std::max(worst.largest, piece.largest);
  worst.beyond += piece.beyond;
  if (piece.furthest <= worst.furthest) return;
  worst.furthest = piece.furthest;
  worst.place = before + piece.place;
  worst.allowed = piece.allowed;
}

}  // namespace attnrun::cli

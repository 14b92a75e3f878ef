// SPDX-License-Identifier: Apache-2.0
//   fuzz_TARGET_seeds FOLDER
// writes the seeds of a target.
#include <iostream>

#include "fuzz/targets/seeds.h"

int main(int count, char** arguments) {
  if (count != 2) {
    std::cerr << "usage: fuzz_TARGET_seeds FOLDER\n";
    return 2;
  }
  attnrun::testing::WriteSeeds(arguments[1]);
  return 0;
}

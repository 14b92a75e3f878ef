# SPDX-License-Identifier: Apache-2.0
# Each installed header alone, with the warnings that a strict project turns on.
include(${CMAKE_CURRENT_LIST_DIR}/consumer.cmake)
set(strict -fsyntax-only -Wall -Wextra -Wpedantic -Werror -I${PREFIX}/include)
file(GLOB headers RELATIVE ${PREFIX}/include ${PREFIX}/include/attnrun/*.h)
list(LENGTH headers count)
if(count LESS 12)
  message(FATAL_ERROR "${PREFIX} has only these headers: ${headers}")
endif()
foreach(header ${headers})
  # Twice, for the include guard.
  file(WRITE ${WORK}/alone.cc "#include \"${header}\"\n#include \"${header}\"\nint main() {}\n")
  run(${COMPILER} -std=c++17 ${strict} alone.cc)
endforeach()
file(WRITE ${WORK}/alone.c "#include \"attnrun/c.h\"\n#include \"attnrun/c.h\"\nint main(void) { return 0; }\n")
run(${C_COMPILER} -std=c99 ${strict} alone.c)

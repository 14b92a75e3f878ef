# SPDX-License-Identifier: Apache-2.0
# README's program and a C program by pkg-config, without CMake.
include(${CMAKE_CURRENT_LIST_DIR}/consumer.cmake)
file(GLOB folder ${PREFIX}/lib*/pkgconfig ${PREFIX}/lib/*/pkgconfig)
set(ENV{PKG_CONFIG_PATH} ${folder})
cmake_path(GET folder PARENT_PATH libraries)
separate_arguments(flags UNIX_COMMAND "${FLAGS}")

function(pkg_config)
  run(pkg-config ${ARGV})
  separate_arguments(words UNIX_COMMAND "${output}")
  set(words ${words} PARENT_SCOPE)
endfunction()

write_readme_program()
pkg_config(--cflags --libs attnrun)
run(${COMPILER} -std=c++17 ${flags} app.cc -o app ${words} -Wl,-rpath,${libraries})
expect_readme_output(./app)

pkg_config(--cflags --libs attnrun-c)
run(${C_COMPILER} -std=c99 -Wall -Wextra -Wpedantic -Werror ${flags} ${HERE}/embed.c -o embed ${words} -Wl,-rpath,${libraries})
run(./embed ${MODEL})

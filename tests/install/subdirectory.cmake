# SPDX-License-Identifier: Apache-2.0
# README's program with attnrun's sources in a subdirectory: configures all, compiles the program alone.
# Variables: those of consumer.cmake, SOURCE (of attnrun).
include(${CMAKE_CURRENT_LIST_DIR}/consumer.cmake)
configure_consumer("add_subdirectory(${SOURCE} attnrun)")
expect_no_flags_of_attnrun()
compile_command(app.cc)
separate_arguments(words UNIX_COMMAND "${command}")
list(TRANSFORM words REPLACE "^CMakeFiles/.*" app.o)
run(${words})

compile_command(runtime/optimizer/phases.cc)
if(NOT command MATCHES " -march=x86-64-v3 ")
  message(FATAL_ERROR "attnrun's own sources need AVX2: ${command}")
endif()
if(NOT command MATCHES " -O3 ")
  message(FATAL_ERROR "a project without a build type gets slow kernels: ${command}")
endif()
if(command MATCHES " -Werror")
  message(FATAL_ERROR "warnings of attnrun stop the build of a project that embeds it: ${command}")
endif()

# SPDX-License-Identifier: Apache-2.0
# README's program with libattnrun.so, which find_package prefers.
include(${CMAKE_CURRENT_LIST_DIR}/consumer.cmake)
configure_consumer("find_package(attnrun 0.1 REQUIRED)")
expect_no_flags_of_attnrun()
run(${CMAKE_COMMAND} --build build)
expect_readme_output(build/app)
run(readelf --dynamic build/app)
if(NOT output MATCHES "libattnrun\\.so\\.0[^.]")
  message(FATAL_ERROR "the program does not need libattnrun.so.0:\n${output}")
endif()

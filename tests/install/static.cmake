# SPDX-License-Identifier: Apache-2.0
# README's program with the static library.
include(${CMAKE_CURRENT_LIST_DIR}/consumer.cmake)
configure_consumer("find_package(attnrun 0.1 REQUIRED COMPONENTS static)")
expect_no_flags_of_attnrun()
run(${CMAKE_COMMAND} --build build)
expect_readme_output(build/app)

# SPDX-License-Identifier: Apache-2.0
# A project that uses attnrun, in the new folder WORK. Variables: README, COMPILER, FLAGS, WORK.
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})

# run(COMMAND...): its output as `output`; fails if it does.
function(run)
  execute_process(COMMAND ${ARGV} WORKING_DIRECTORY ${WORK} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${ARGV}: ${result}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

# configure_consumer(FINDS OPTIONS...): README's program, with attnrun from the CMake command FINDS, configured in build/.
function(configure_consumer finds)
  file(READ ${README} text)
  if(NOT text MATCHES "```cpp\n(.*)\n```")
    message(FATAL_ERROR "${README} has no C++ program")
  endif()
  string(REGEX REPLACE "\n```.*" "\n" program "${CMAKE_MATCH_1}\n```")
  file(WRITE ${WORK}/app.cc "${program}")
  file(WRITE ${WORK}/CMakeLists.txt "cmake_minimum_required(VERSION 3.25)
project(app LANGUAGES CXX)
set(CMAKE_CXX_STANDARD 17)
${finds}
add_executable(app app.cc)
target_link_libraries(app PRIVATE attnrun::attnrun)
")
  run(${CMAKE_COMMAND} -S . -B build -G Ninja -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_CXX_FLAGS=${FLAGS}
    -DCMAKE_EXPORT_COMPILE_COMMANDS=ON ${ARGN})
endfunction()

# compile_command(FILE): how build/ compiles the source whose path ends in FILE, as `command`.
function(compile_command file)
  string(REPLACE "." "\\." pattern ${file})
  file(STRINGS ${WORK}/build/compile_commands.json lines REGEX "\"command\": .*/${pattern}\"")
  list(LENGTH lines count)
  if(NOT count EQUAL 1)
    message(FATAL_ERROR "expected one compile command of ${file}, but found ${count}")
  endif()
  string(REGEX REPLACE "^ *\"command\": \"(.*)\",?$" "\\1" command "${lines}")
  set(command "${command}" PARENT_SCOPE)
endfunction()

# Fails if the consumer's own source is compiled with a flag that is attnrun's.
function(expect_no_flags_of_attnrun)
  compile_command(app.cc)
  if(command MATCHES " (-Werror|-Wall|-Wextra|-march|-DHWY)[^ ]*")
    message(FATAL_ERROR "attnrun forces ${CMAKE_MATCH_0} on those who use it: ${command}")
  endif()
endfunction()

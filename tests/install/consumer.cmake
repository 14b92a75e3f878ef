# SPDX-License-Identifier: Apache-2.0
# A project that uses attnrun, in the new folder WORK. Variables: README, COMPILER, C_COMPILER, FLAGS, MODEL,
# DECODER, HERE (this folder), PREFIX (where attnrun is installed), WORK.
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

# Writes README's program to app.cc.
function(write_readme_program)
  file(READ ${README} text)
  if(NOT text MATCHES "```cpp\n(.*)\n```")
    message(FATAL_ERROR "${README} has no C++ program")
  endif()
  string(REGEX REPLACE "\n```.*" "\n" program "${CMAKE_MATCH_1}\n```")
  file(WRITE ${WORK}/app.cc "${program}")
endfunction()

# Runs README's program, which is built, and compares what it prints.
function(expect_readme_output program)
  file(COPY_FILE ${MODEL} ${WORK}/bert.onnx)
  run(${program})
  if(NOT output STREQUAL "float[1,3,32]\n")
    message(FATAL_ERROR "the program printed '${output}'")
  endif()
endfunction()

# configure_project(LANGUAGE TEXT OPTIONS...): a project whose CMakeLists.txt ends in TEXT, configured in build/.
function(configure_project language text)
  file(WRITE ${WORK}/CMakeLists.txt "cmake_minimum_required(VERSION 3.25)
project(app LANGUAGES ${language})
${text}")
  run(${CMAKE_COMMAND} -S . -B build -G Ninja -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_C_COMPILER=${C_COMPILER}
    -DCMAKE_CXX_FLAGS=${FLAGS} -DCMAKE_C_FLAGS=${FLAGS} -DCMAKE_PREFIX_PATH=${PREFIX}
    -DCMAKE_EXPORT_COMPILE_COMMANDS=ON ${ARGN})
endfunction()

# configure_consumer(FINDS): README's program, with attnrun from the CMake command FINDS.
function(configure_consumer finds)
  write_readme_program()
  configure_project(CXX "${finds}
add_executable(app app.cc)
target_link_libraries(app PRIVATE attnrun::attnrun)
")
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

# Fails if the consumer's own source is compiled with a flag that is attnrun's, other than the language's
# version, which the headers need.
function(expect_no_flags_of_attnrun)
  compile_command(app.cc)
  if(command MATCHES " (-Werror|-Wall|-Wextra|-march|-mavx|-f[a-z]|-O|-DHWY)[^ ]*")
    message(FATAL_ERROR "attnrun forces ${CMAKE_MATCH_0} on those who use it: ${command}")
  endif()
endfunction()

# SPDX-License-Identifier: Apache-2.0
# Installs attnrun, builds README's program against it and runs it. Variables: those of consumer.cmake, BUILD (a
# build folder), MODEL.
include(${CMAKE_CURRENT_LIST_DIR}/consumer.cmake)
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/installed)
configure_consumer("find_package(attnrun 0.1 REQUIRED)" -DCMAKE_PREFIX_PATH=${WORK}/installed)
expect_no_flags_of_attnrun()
run(${CMAKE_COMMAND} --build build)
file(COPY_FILE ${MODEL} ${WORK}/bert.onnx)
run(${WORK}/build/app)
if(NOT output STREQUAL "float[1,3,32]\n")
  message(FATAL_ERROR "the program printed '${output}'")
endif()

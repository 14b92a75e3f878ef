# SPDX-License-Identifier: Apache-2.0
# Builds the example service against the installed attnrun and tests it. Variables also: SOURCE, PYTHON.
include(${CMAKE_CURRENT_LIST_DIR}/consumer.cmake)
set(example ${SOURCE}/examples/embedding_service)
run(${CMAKE_COMMAND} -S ${example} -B build -G Ninja -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_CXX_FLAGS=${FLAGS}
  -DCMAKE_PREFIX_PATH=${PREFIX})
run(${CMAKE_COMMAND} --build build)
run(${PYTHON} -B ${HERE}/service_test.py build/embedding_service ${example}/load.py ${MODEL})
message(STATUS "${output}")

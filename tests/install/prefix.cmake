# SPDX-License-Identifier: Apache-2.0
# Installs attnrun from the folder BUILD into PREFIX, for the other tests.
include(${CMAKE_CURRENT_LIST_DIR}/consumer.cmake)
file(REMOVE_RECURSE ${PREFIX})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${PREFIX})

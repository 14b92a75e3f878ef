# SPDX-License-Identifier: Apache-2.0
include(CMakeFindDependencyMacro)
find_dependency(absl)
find_dependency(Threads)
find_dependency(dnnl)
find_dependency(hwy)
find_dependency(Protobuf)
include(${CMAKE_CURRENT_LIST_DIR}/attnrunTargets.cmake)

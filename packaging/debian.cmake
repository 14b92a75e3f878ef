# SPDX-License-Identifier: Apache-2.0
# The .deb files, by `cpack` in the build folder: libattnrun0, libattnrun-dev and attnrun. The program has the
# library in it and needs no other package of attnrun.
set(soname libattnrun${PROJECT_VERSION_MAJOR})
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "attnrun maintainers <maintainers@attnrun.invalid>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_COMPONENTS_ALL runtime dev tool)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE zstd)

set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME ${soname})
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_DEV_PACKAGE_NAME libattnrun-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "${soname} (= ${PROJECT_VERSION}), libabsl-dev")
# For the static library alone.
set(CPACK_DEBIAN_DEV_PACKAGE_RECOMMENDS "libdnnl-dev, libhwy-dev, libprotobuf-dev, libre2-dev")
set(CPACK_DEBIAN_TOOL_PACKAGE_NAME attnrun)
set(CPACK_DEBIAN_TOOL_PACKAGE_SECTION science)
foreach(component RUNTIME DEV TOOL)
  set(what_RUNTIME "runs exported transformer models, shared library")
  set(what_DEV "runs exported transformer models, headers and static library")
  set(what_TOOL "runs exported transformer models from the command line")
  set(CPACK_COMPONENT_${component}_DESCRIPTION "${what_${component}}
attnrun runs exported transformer models (ONNX) on x86-64 processors with AVX2.")
endforeach()
include(CPack)

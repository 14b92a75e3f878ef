# SPDX-License-Identifier: Apache-2.0
# Fails unless a page is what the program prints. Variables: PROGRAM, COMMAND (its arguments), ROOT (of the
# repository), PAGE (a path in it), PRINTED (a file to write).
separate_arguments(arguments UNIX_COMMAND "${COMMAND}")
execute_process(COMMAND ${PROGRAM} ${arguments} OUTPUT_FILE ${PRINTED} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} -E compare_files ${ROOT}/${PAGE} ${PRINTED} RESULT_VARIABLE differs)
if(differs)
  execute_process(COMMAND diff -u ${ROOT}/${PAGE} ${PRINTED})
  message(FATAL_ERROR "${PAGE} is not what the program prints. To write it anew, in the repository's root: "
    "build/release/attnrun ${COMMAND} > ${PAGE}")
endif()

# cmake -D WAY=consumer|pkgconfig -D … -P run_consumer.cmake: one consumer from installation to exit code.
set(prefix "${SCRATCH_DIR}/prefix")
set(program "${SCRATCH_DIR}/build/consumer")
file(REMOVE_RECURSE "${SCRATCH_DIR}")
file(MAKE_DIRECTORY "${SCRATCH_DIR}/build" "${SCRATCH_DIR}/tier")

# Runs one command; its failure is the test's.
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

run(${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${prefix})
if(WAY STREQUAL "consumer")
  run(${CMAKE_COMMAND} -G Ninja -S ${SOURCE_DIR} -B ${SCRATCH_DIR}/build
    -D CMAKE_CXX_COMPILER=${COMPILER} -D CMAKE_CXX_FLAGS=${FLAGS} -D CMAKE_PREFIX_PATH=${prefix})
  run(${CMAKE_COMMAND} --build ${SCRATCH_DIR}/build)
else()
  set(ENV{PKG_CONFIG_PATH} "${prefix}/${LIBRARY_DIR}/pkgconfig")
  # --static also where the library is shared: what it names then is merely not needed.
  execute_process(COMMAND pkg-config --define-prefix --static --cflags --libs kvstream
    OUTPUT_VARIABLE package_flags OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(arguments UNIX_COMMAND "-std=c++20 ${FLAGS} ${SOURCE_DIR}/main.cc \
    ${package_flags} -Wl,-rpath,${prefix}/${LIBRARY_DIR} -o ${program}")
  run(${COMPILER} ${arguments})
endif()

execute_process(COMMAND ${program} ${SCRATCH_DIR}/tier OUTPUT_VARIABLE output
  COMMAND_ERROR_IS_FATAL ANY)
if(NOT output STREQUAL "kvstream ${VERSION}: read back what was written\n")
  message(FATAL_ERROR "unexpected output: ${output}")
endif()

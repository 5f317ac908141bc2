# One module is one folder of src/, one object library kvs_<name>, and its unit tests beside the sources.

add_library(kvs_warnings INTERFACE)
target_compile_options(kvs_warnings INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wshadow
  -Wnon-virtual-dtor -Woverloaded-virtual -Wimplicit-fallthrough
  # g++ 12 at -O3 sees an overflow in fmt's own parser of format strings, where there is none.
  $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow>
  $<$<BOOL:${KVSTREAM_DEVELOPER_MODE}>:-Werror>)

if(KVSTREAM_SANITIZE)
  add_compile_options(-fsanitize=${KVSTREAM_SANITIZE} -fno-omit-frame-pointer)
  # gcc(1) says of sanitizers that they give false positives of this warning.
  target_compile_options(kvs_warnings INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  add_link_options(-fsanitize=${KVSTREAM_SANITIZE})
endif()

# kvs_module(tier SOURCES a.cc DEPENDS base chunk LINK PkgConfig::X)
function(kvs_module name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "SOURCES;DEPENDS;LINK")
  add_library(kvs_${name} OBJECT ${ARG_SOURCES})
  target_compile_features(kvs_${name} PUBLIC cxx_std_20)
  set_target_properties(kvs_${name} PROPERTIES CXX_EXTENSIONS OFF CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON POSITION_INDEPENDENT_CODE ON)
  target_include_directories(kvs_${name} PUBLIC "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src")
  target_link_libraries(kvs_${name} PUBLIC tl::expected fmt::fmt ${ARG_LINK} PRIVATE kvs_warnings)
  foreach(dep IN LISTS ARG_DEPENDS)
    target_link_libraries(kvs_${name} PUBLIC kvs_${dep})
  endforeach()
endfunction()

# A static archive of the named modules: what a test, a benchmark or a program links.
# kvs_archive(kvs_core_archive base cache core)
function(kvs_archive name)
  add_library(${name} STATIC)
  foreach(module IN LISTS ARGN)
    target_sources(${name} PRIVATE $<TARGET_OBJECTS:kvs_${module}>)
    target_link_libraries(${name} PUBLIC $<TARGET_PROPERTY:kvs_${module},LINK_LIBRARIES>)
  endforeach()
  target_compile_features(${name} PUBLIC cxx_std_20)
  target_include_directories(${name} PUBLIC "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src")
endfunction()

# kvs_test(cache SOURCES lru_index_test.cc [LABEL unit] [LINK testing_library])
# One program kvs_<name>_test whose cases ctest knows one by one. Target kvs_<label>_tests builds all
# programs of a label. Nothing in developer mode off.
function(kvs_test name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "LABEL;TIMEOUT" "SOURCES;LINK")
  if(NOT KVSTREAM_DEVELOPER_MODE)
    return()
  endif()
  if(NOT ARG_LABEL)
    set(ARG_LABEL unit)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  add_executable(kvs_${name}_test ${ARG_SOURCES})
  target_include_directories(kvs_${name}_test PRIVATE "${PROJECT_SOURCE_DIR}/tests")
  target_link_libraries(kvs_${name}_test PRIVATE ${ARG_LINK} kvstream_internal GTest::gmock_main kvs_warnings)
  gtest_discover_tests(kvs_${name}_test DISCOVERY_MODE PRE_TEST
    PROPERTIES LABELS ${ARG_LABEL} TIMEOUT ${ARG_TIMEOUT})
  if(NOT TARGET kvs_${ARG_LABEL}_tests)
    add_custom_target(kvs_${ARG_LABEL}_tests)
  endif()
  add_dependencies(kvs_${ARG_LABEL}_tests kvs_${name}_test)
endfunction()

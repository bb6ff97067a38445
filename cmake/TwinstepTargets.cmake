# SPDX-License-Identifier: MIT
# The targets every module shares, and the two functions that declare a module and its tests.

# twinstep_determinism: the floating-point contract. It is a PUBLIC dependency of twinstep::sim, so
# whoever links the simulation compiles his own steps with the same flags. Appended last on the
# command line because an earlier -ffp-contract=off is undone by a later -ffp-model.
add_library(twinstep_determinism INTERFACE)
add_library(twinstep::determinism ALIAS twinstep_determinism)
set_target_properties(twinstep_determinism PROPERTIES EXPORT_NAME determinism)
target_compile_features(twinstep_determinism INTERFACE cxx_std_20)
target_compile_options(
    twinstep_determinism
    INTERFACE
        "$<$<CXX_COMPILER_ID:GNU,Clang,AppleClang>:-ffp-contract=off;-fno-fast-math;-fno-unsafe-math-optimizations;-fsigned-zeros;-fno-associative-math;-fno-reciprocal-math;-fno-finite-math-only;-fsigned-char>"
        # g++ 12 makes vfmaddsub of a neighbouring a*b-c and a*b+c when it vectorises for a CPU with
        # FMA, whatever -ffp-contract says; tests/games/pile_fma_test.cpp shows it.
        "$<$<CXX_COMPILER_ID:GNU>:-fno-tree-vectorize>"
        "$<$<CXX_COMPILER_ID:MSVC>:/fp:precise;/permissive->"
)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86|i[3-6]86)$" OR (CMAKE_SIZEOF_VOID_P EQUAL 4 AND CMAKE_SYSTEM_PROCESSOR
                                                                                      MATCHES "x86_64|AMD64")
)
    # 32-bit x86: without these two, arithmetic runs on the x87 with excess precision.
    target_compile_options(
        twinstep_determinism INTERFACE "$<$<CXX_COMPILER_ID:GNU,Clang>:-msse2;-mfpmath=sse>"
    )
endif()

# twinstep_build: what our own files are compiled with; never exported.
add_library(twinstep_build INTERFACE)
target_compile_options(
    twinstep_build
    INTERFACE
        "$<$<CXX_COMPILER_ID:GNU,Clang>:-Wall;-Wextra;-Wshadow;-Wconversion;-Wsign-conversion;-Wdouble-promotion;-Wnon-virtual-dtor;-Woverloaded-virtual>"
        "$<$<AND:$<BOOL:${TWINSTEP_WERROR}>,$<CXX_COMPILER_ID:GNU,Clang>>:-Werror>"
)
if(CMAKE_UNITY_BUILD)
    # About types in headers; in a batch, g++ takes every source file for one.
    target_compile_options(twinstep_build INTERFACE "$<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>")
endif()
if(TWINSTEP_SANITIZE)
    target_compile_options(
        twinstep_build INTERFACE -fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover=all
                                 -fno-omit-frame-pointer
    )
    target_link_options(twinstep_build INTERFACE -fsanitize=address,undefined)
endif()
if(TWINSTEP_SANITIZE_THREAD)
    # Asio's fences are beside the mutexes that order everything; the sanitizer does not know fences.
    target_compile_options(twinstep_build INTERFACE -fsanitize=thread -fno-omit-frame-pointer -Wno-tsan)
    target_link_options(twinstep_build INTERFACE -fsanitize=thread)
endif()
if(TWINSTEP_VALIDATE)
    target_compile_definitions(twinstep_build INTERFACE TWINSTEP_VALIDATE_ENABLED=1)
endif()

# twinstep_add_module(NAME SOURCES ... HEADERS ... PUBLIC ... PRIVATE ...)
# Declares static library twinstep_NAME (alias twinstep::NAME). HEADERS live under include/, SOURCES
# under src/; src/ is private. Every public header is compiled on its own by the target
# all_verify_interface_header_sets.
function(twinstep_add_module name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;HEADERS;PUBLIC;PRIVATE")
    add_library(twinstep_${name} STATIC ${arg_SOURCES})
    add_library(twinstep::${name} ALIAS twinstep_${name})
    set_target_properties(
        twinstep_${name} PROPERTIES EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON VERIFY_INTERFACE_HEADER_SETS ON
    )
    target_sources(
        twinstep_${name}
        PUBLIC FILE_SET HEADERS BASE_DIRS include FILES ${arg_HEADERS}
    )
    target_include_directories(twinstep_${name} PRIVATE src)
    target_link_libraries(
        twinstep_${name}
        PUBLIC ${arg_PUBLIC} twinstep_determinism
        PRIVATE ${arg_PRIVATE} "$<BUILD_INTERFACE:twinstep_build>"
    )
    set_property(GLOBAL APPEND PROPERTY TWINSTEP_MODULES twinstep_${name})
endfunction()

# twinstep_add_tests(NAME SOURCES ... LIBRARIES ... [LABELS ...])
# One Catch2 executable, each of its test cases a CTest of its own. What replaces operator new stays out of batches:
# a compiler that sees the replacement and its users together may do without calls that a test counts.
function(twinstep_add_tests name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBRARIES;LABELS")
    add_executable(twinstep_${name}_tests ${arg_SOURCES})
    set_source_files_properties(
        "${PROJECT_SOURCE_DIR}/tests/support/allocation_counter.cpp" allocation_test.cpp
        PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON
    )
    target_link_libraries(twinstep_${name}_tests PRIVATE ${arg_LIBRARIES} twinstep_test_support twinstep_build)
    catch_discover_tests(
        twinstep_${name}_tests
        TEST_PREFIX "${name}: "
        PROPERTIES LABELS "${name};${arg_LABELS}" TIMEOUT 300
    )
endfunction()

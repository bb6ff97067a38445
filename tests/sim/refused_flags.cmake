# SPDX-License-Identifier: MIT
# A build whose floating point could differ does not compile. Plants each flag, and none.
# Usage: cmake -DCOMPILER=... -DCOMPILER_ID=... -DINCLUDES=a,b -DX86=... -P refused_flags.cmake
set(source "${CMAKE_CURRENT_LIST_DIR}/../../sim/include/twinstep/sim/float_environment.hpp")
string(REPLACE "," ";-I" includes "-I${INCLUDES}")

function(expect_refusal wanted)
    execute_process(
        COMMAND "${COMPILER}" -std=c++20 -O2 ${ARGN} ${includes} -x c++ -fsyntax-only "${source}"
        RESULT_VARIABLE status
        ERROR_VARIABLE output
    )
    if(wanted STREQUAL "")
        if(NOT status EQUAL 0)
            message(FATAL_ERROR "without a refused flag it must compile:\n${output}")
        endif()
    elseif(status EQUAL 0 OR NOT output MATCHES "twinstep: ${wanted}")
        message(FATAL_ERROR "'${ARGN}' must be refused with 'twinstep: ${wanted}':\n${output}")
    endif()
endfunction()

expect_refusal("" -ffp-contract=off)
expect_refusal("-ffast-math" -ffast-math)
expect_refusal("-ffast-math" -Ofast)
expect_refusal("-ffast-math" -ffinite-math-only)
if(COMPILER_ID STREQUAL "GNU")
    expect_refusal("-ffast-math" -funsafe-math-optimizations)
    expect_refusal("-ffast-math" -freciprocal-math)
    expect_refusal("-ffast-math" -fno-signed-zeros)
    if(X86)
        expect_refusal("x87" -mfpmath=387)
    endif()
endif()

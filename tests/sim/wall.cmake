# SPDX-License-Identifier: MIT
# The headers that have no place in a simulation are errors behind its wall, each with a word of advice, and the others are
# not. Usage: cmake -DMODULE=TwinstepWall.cmake -DCOMPILER=... -DINCLUDES=a,b -DWORK=folder -P wall.cmake
file(REMOVE_RECURSE "${WORK}")
set(CMAKE_CURRENT_BINARY_DIR "${WORK}")
include("${MODULE}")
_twinstep_wall_folder(folder)
string(REPLACE "," ";-I" includes "-I${INCLUDES}")

# Preprocesses: a refused header does not keep the next one from being looked at.
function(read_behind_wall text)
    file(WRITE "${WORK}/game.cpp" "${text}")
    execute_process(
        COMMAND "${COMPILER}" -std=c++20 -Wall -Wextra -Wpedantic -Werror ${ARGN} ${includes} -isystem "${folder}" -include
                twinstep/sim/wall.hpp -E -o "${WORK}/game.ii" "${WORK}/game.cpp"
        RESULT_VARIABLE status
        ERROR_VARIABLE output
    )
    set(status "${status}" PARENT_SCOPE)
    set(output "${output}" PARENT_SCOPE)
endfunction()

set(text "")
set(headers "")
foreach(row IN LISTS _twinstep_wall_table)
    string(REGEX REPLACE "[|].*" "" names "${row}")
    string(REPLACE " " ";" names "${names}")
    foreach(header IN LISTS names)
        list(APPEND headers "${header}")
        # A file of its own for each: one that was read inside another is not read again.
        read_behind_wall("#include <${header}>\n")
        if(status EQUAL 0 OR NOT output MATCHES "error: \"?(#error )?\"?twinstep: <${header}> in a simulation: [^\n]+")
            message(FATAL_ERROR "<${header}> must be refused by name:\n${output}")
        endif()
    endforeach()
endforeach()
list(LENGTH headers count)
if(count LESS 40)
    message(FATAL_ERROR "${count} headers are fewer than there were: nothing may be taken off the list unseen")
endif()

# What the wall lets through does not stumble over it, nor do the containers that Cereal knows how to save.
set(allowed algorithm any array bitset cctype climits complex concepts deque iterator limits list memory_resource numbers numeric queue
            ranges set stack string tuple type_traits utility vector map string string_view cmath cstdlib algorithm functional memory optional variant charconv span bit cstring stdexcept
            cereal/types/vector.hpp cereal/types/map.hpp cereal/types/string.hpp cereal/types/optional.hpp cereal/types/set.hpp
            cereal/types/deque.hpp cereal/types/variant.hpp twinstep/sim.hpp twinstep/sim/math.hpp
)
set(text "")
foreach(header IN LISTS allowed)
    string(APPEND text "#include <${header}>\n")
endforeach()
read_behind_wall("${text}")
if(NOT status EQUAL 0)
    message(FATAL_ERROR "what a simulation may use must be let through:\n${output}")
endif()

# A file that is left out reads what it likes.
read_behind_wall("#include <chrono>\n#include <cstdio>\n#include <unordered_map>\n" -DTWINSTEP_WALL_OPEN)
if(NOT status EQUAL 0)
    message(FATAL_ERROR "a file that is left out must compile:\n${output}")
endif()
message(STATUS "${count} headers refused")

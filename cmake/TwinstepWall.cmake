# SPDX-License-Identifier: MIT
# twinstep_simulation_wall(TARGET [EXCEPT file...]): the target's C++ files are code of a simulation: including a header
# that has no place there is an error, which says what to use instead. Files named behind EXCEPT, which read content or
# draw, are left out. With g++ and clang; elsewhere nothing happens.
#
# How: each of the headers below gets a stand-in in a folder that is searched before the standard library's.
# twinstep/sim/wall.hpp, which is included in front of each file, reads what is allowed, and shuts the stand-ins.

# "header and header ...|what to do instead"
set(_twinstep_wall_table
    "chrono ctime time.h sys/time.h|a step knows ticks and no clock: take Step::tick and the game's tick_rate"
    "random|what std::random yields differs between libraries: draw from Step::random or twinstep::Draws"
    "unordered_map unordered_set|their order differs between libraries: take twinstep::FlatMap or std::map"
    "thread mutex shared_mutex condition_variable future atomic barrier latch semaphore stop_token execution pthread.h|the order of threads is an accident: take Step::workers"
    "locale clocale locale.h regex|its meaning depends on the machine's settings: spell texts out, or take <charconv>"
    "iostream fstream sstream iomanip filesystem cstdio stdio.h unistd.h fcntl.h|a step reads no files and writes none: content is read before the session and digested in its set-up"
    "cfenv fenv.h|the floating-point mode belongs to the driver"
    "csignal signal.h csetjmp setjmp.h|a signal comes at no tick"
    "typeindex typeinfo|their order and names differ between compilers: give types numbers of your own"
    "windows.h|a simulation knows no system"
)

# Writes the stand-ins, once for each folder of the build; `result` gets theirs.
function(_twinstep_wall_folder result)
    set(folder "${CMAKE_CURRENT_BINARY_DIR}/twinstep_wall")
    foreach(row IN LISTS _twinstep_wall_table)
        string(REGEX MATCH "^([^|]+)[|](.+)$" matched "${row}")
        set(instead "${CMAKE_MATCH_2}")
        string(REPLACE " " ";" headers "${CMAKE_MATCH_1}")
        foreach(header IN LISTS headers)
            file(CONFIGURE OUTPUT "${folder}/${header}" @ONLY CONTENT [[
#pragma GCC system_header
#if defined(TWINSTEP_WALL_SHUT)
#error "twinstep: <@header@> in a simulation: @instead@"
#endif
#include_next <@header@>
]])
        endforeach()
    endforeach()
    set(${result} "${folder}" PARENT_SCOPE)
endfunction()

function(twinstep_simulation_wall target)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "EXCEPT")
    if(arg_UNPARSED_ARGUMENTS OR NOT TARGET "${target}")
        message(FATAL_ERROR "twinstep_simulation_wall: '${target}' ${arg_UNPARSED_ARGUMENTS}: name a target, and if wanted EXCEPT file...")
    endif()
    get_target_property(sources "${target}" SOURCES)
    foreach(file IN LISTS arg_EXCEPT)
        if(NOT file IN_LIST sources)
            message(FATAL_ERROR "twinstep_simulation_wall: EXCEPT ${file} is no source of ${target}: nothing would be left out")
        endif()
    endforeach()
    if(NOT CMAKE_CXX_COMPILER_ID MATCHES "^(GNU|Clang|AppleClang)$")
        return()
    endif()
    _twinstep_wall_folder(folder)
    target_compile_options(
        "${target}" PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-isystem ${folder} -include twinstep/sim/wall.hpp>"
    )
    if(arg_EXCEPT)
        set_property(
            SOURCE ${arg_EXCEPT}
            APPEND
            PROPERTY COMPILE_DEFINITIONS TWINSTEP_WALL_OPEN
        )
    endif()
endfunction()

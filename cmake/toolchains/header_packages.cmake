# SPDX-License-Identifier: MIT
# A dependency provider for cross builds: takes the headers of our dependencies from the building machine.
# Its packages cannot be used as they are. They add /usr/include, whose C library belongs to another target,
# and fmt's brings a library. All of them work as headers alone, so each becomes an interface target on a
# folder of links to nothing but those headers.
set(twinstep_headers "${CMAKE_BINARY_DIR}/header_packages")
file(MAKE_DIRECTORY "${twinstep_headers}")

# twinstep_header_package(TARGET ENTRIES...): an imported target, and links to what it needs of /usr/include.
function(twinstep_header_package target)
    if(TARGET ${target})
        return() # Another module has asked for it.
    endif()
    foreach(entry IN LISTS ARGN)
        find_path(twinstep_found_${entry} "${entry}" PATHS /usr/include /usr/local/include NO_DEFAULT_PATH REQUIRED)
        file(CREATE_LINK "${twinstep_found_${entry}}/${entry}" "${twinstep_headers}/${entry}" SYMBOLIC)
        mark_as_advanced(twinstep_found_${entry})
    endforeach()
    add_library(${target} INTERFACE IMPORTED GLOBAL)
    target_include_directories(${target} INTERFACE "${twinstep_headers}")
endfunction()

# A macro, because FOUND and CMAKE_MODULE_PATH are for the caller's scope.
macro(twinstep_provide_headers method package)
    if("${package}" STREQUAL "cereal")
        twinstep_header_package(cereal::cereal cereal)
    elseif("${package}" STREQUAL "tl-expected")
        twinstep_header_package(tl::expected tl)
    elseif("${package}" STREQUAL "fmt")
        twinstep_header_package(fmt::fmt fmt)
        target_compile_definitions(fmt::fmt INTERFACE FMT_HEADER_ONLY=1)
    elseif("${package}" STREQUAL "CLI11")
        twinstep_header_package(CLI11::CLI11 CLI)
    elseif("${package}" STREQUAL "nlohmann_json")
        twinstep_header_package(nlohmann_json::nlohmann_json nlohmann)
    elseif("${package}" STREQUAL "xxHash")
        twinstep_header_package(xxHash::xxHash xxhash.h xxh3.h)
        set(xxHash_INCLUDE_DIR "${twinstep_headers}")
    elseif("${package}" STREQUAL "Boost")
        twinstep_header_package(Boost::headers boost)
    elseif("${package}" STREQUAL "Catch2")
        twinstep_header_package(Catch2::Catch2 catch2)
        find_path(twinstep_catch_module Catch.cmake PATHS /usr/lib/cmake/Catch2 NO_DEFAULT_PATH REQUIRED)
        list(APPEND CMAKE_MODULE_PATH "${twinstep_catch_module}")
    endif()
    if("${package}" MATCHES "^(cereal|tl-expected|fmt|CLI11|nlohmann_json|xxHash|Boost|Catch2)$")
        set(${package}_FOUND TRUE)
    endif()
endmacro()

cmake_language(SET_DEPENDENCY_PROVIDER twinstep_provide_headers SUPPORTED_METHODS FIND_PACKAGE)

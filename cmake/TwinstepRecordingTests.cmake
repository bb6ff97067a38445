# SPDX-License-Identifier: MIT
# twinstep_add_recording_tests(TARGET game DIRECTORY recordings/ [PREFIX text] [LABELS label...] [ARGS option...])
# makes each recording under the directory a CTest: `game verify FILE option...`, named PREFIX and the file's path below
# the directory (without PREFIX: "TARGET verify: "). What is added or taken away later is noticed by the next build. A
# directory without a recording is an error: tests that check nothing must not pass.
function(twinstep_add_recording_tests)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "TARGET;DIRECTORY;PREFIX" "LABELS;ARGS")
    if(arg_UNPARSED_ARGUMENTS OR arg_KEYWORDS_MISSING_VALUES)
        message(
            FATAL_ERROR "twinstep_add_recording_tests: ${arg_UNPARSED_ARGUMENTS} ${arg_KEYWORDS_MISSING_VALUES}: use TARGET "
                        "game DIRECTORY folder, and if wanted PREFIX, LABELS, ARGS"
        )
    endif()
    if(NOT TARGET "${arg_TARGET}")
        message(FATAL_ERROR "twinstep_add_recording_tests: TARGET '${arg_TARGET}' is no target: add the game's executable first")
    endif()
    get_filename_component(directory "${arg_DIRECTORY}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_SOURCE_DIR}")
    if(NOT arg_DIRECTORY OR NOT IS_DIRECTORY "${directory}")
        message(FATAL_ERROR "twinstep_add_recording_tests: DIRECTORY '${arg_DIRECTORY}' is no directory")
    endif()
    file(GLOB_RECURSE recordings CONFIGURE_DEPENDS RELATIVE "${directory}" "${directory}/*.twin")
    if(NOT recordings)
        message(FATAL_ERROR "twinstep_add_recording_tests: no .twin file under ${directory}: nothing would be checked")
    endif()
    if(NOT DEFINED arg_PREFIX)
        set(arg_PREFIX "${arg_TARGET} verify: ")
    endif()
    foreach(recording IN LISTS recordings)
        set(name "${arg_PREFIX}${recording}")
        add_test(NAME "${name}" COMMAND "${arg_TARGET}" verify "${directory}/${recording}" ${arg_ARGS})
        if(arg_LABELS)
            set_tests_properties("${name}" PROPERTIES LABELS "${arg_LABELS}")
        endif()
    endforeach()
endfunction()

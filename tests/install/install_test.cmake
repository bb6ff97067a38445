# SPDX-License-Identifier: MIT
# The test itself: install, move the tree, build and run an outside project, read its command line.
# Arguments: build_dir, source_dir, work_dir, compiler, version.

function(run what)
    execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
    if(NOT result EQUAL 0)
        message(FATAL_ERROR "${what} failed (${result}):\n${output}")
    endif()
    set(output "${output}" PARENT_SCOPE)
endfunction()

# Moving the tree after installing it finds every path that should have been relative.
file(REMOVE_RECURSE "${work_dir}")
run("install" "${CMAKE_COMMAND}" --install "${build_dir}" --prefix "${work_dir}/staged")
file(RENAME "${work_dir}/staged" "${work_dir}/prefix")

file(GLOB_RECURSE package_files "${work_dir}/prefix/*.cmake")
if(NOT package_files)
    message(FATAL_ERROR "no CMake package was installed under ${work_dir}/prefix")
endif()
foreach(package_file IN LISTS package_files)
    file(READ "${package_file}" text)
    foreach(machine_path IN ITEMS "${work_dir}" "${build_dir}" "${source_dir}")
        string(FIND "${text}" "${machine_path}" position)
        if(NOT position EQUAL -1)
            message(FATAL_ERROR "${package_file} names a path of this machine: ${machine_path}")
        endif()
    endforeach()
endforeach()

function(configure_outside build result_name)
    execute_process(
        COMMAND
            "${CMAKE_COMMAND}" -S "${CMAKE_CURRENT_LIST_DIR}/outside" -B "${build}" -G Ninja
            "-DCMAKE_PREFIX_PATH=${work_dir}/prefix" "-DCMAKE_CXX_COMPILER=${compiler}"
            -DCMAKE_EXPORT_COMPILE_COMMANDS=ON ${ARGN}
        RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output
    )
    set(${result_name} ${result} PARENT_SCOPE)
    set(output "${output}" PARENT_SCOPE)
endfunction()

configure_outside("${work_dir}/refused" result -DWANTED_VERSION=99.0)
if(result EQUAL 0)
    message(FATAL_ERROR "version 99.0 was asked for and ${version} accepted")
endif()
configure_outside("${work_dir}/outside" result "-DWANTED_VERSION=${version}")
if(NOT result EQUAL 0)
    message(FATAL_ERROR "configuring the outside project failed:\n${output}")
endif()
run("building the outside project" "${CMAKE_COMMAND}" --build "${work_dir}/outside")

file(READ "${work_dir}/outside/compile_commands.json" commands)
string(JSON command GET "${commands}" 0 command)
foreach(expected_flag IN ITEMS -ffp-contract=off -fno-fast-math)
    if(NOT " ${command} " MATCHES " ${expected_flag} ")
        message(FATAL_ERROR "${expected_flag} did not reach the outside project:\n${command}")
    endif()
endforeach()
if(command MATCHES " -Wconversion")
    message(FATAL_ERROR "our own warnings reached the outside project:\n${command}")
endif()

# Somebody else's game has the whole command: it lists itself, records, and verifies what it recorded.
set(outside "${work_dir}/outside/outside")
run("listing the outside game" "${outside}" games --json)
if(NOT output MATCHES "\"sled\"")
    message(FATAL_ERROR "the outside project does not list its game:\n${output}")
endif()
run("recording" "${outside}" record sled -o "${work_dir}/sled.twin" --from bot:1 --ticks 200 --json)
run("verifying" "${outside}" verify "${work_dir}/sled.twin" --json)
run("looking at the recording" "${outside}" info "${work_dir}/sled.twin" --json)
string(JSON digest GET "${output}" manifest sim.source_digest)
if(NOT digest MATCHES "^[0-9a-f]+$")
    message(FATAL_ERROR "the outside game's recording has no source digest: ${digest}")
endif()

# A recording becomes a test of the project, the next one too without configuring again, and a folder without
# recordings is an error: tests that check nothing must not pass.
set(recordings "${work_dir}/recordings")
file(MAKE_DIRECTORY "${recordings}/inner")
configure_outside("${work_dir}/outside" result "-DWANTED_VERSION=${version}" "-DRECORDINGS=${recordings}")
if(result EQUAL 0 OR NOT output MATCHES "no .twin file")
    message(FATAL_ERROR "a folder without recordings was taken for tests:\n${output}")
endif()
file(COPY "${work_dir}/sled.twin" DESTINATION "${recordings}")
configure_outside("${work_dir}/outside" result "-DWANTED_VERSION=${version}" "-DRECORDINGS=${recordings}")
if(NOT result EQUAL 0)
    message(FATAL_ERROR "a folder with a recording was refused:\n${output}")
endif()
file(COPY "${work_dir}/sled.twin" DESTINATION "${recordings}/inner")
run("building with another recording" "${CMAKE_COMMAND}" --build "${work_dir}/outside")
cmake_path(GET CMAKE_COMMAND PARENT_PATH cmake_programs)
run(
    "testing the recordings" "${cmake_programs}/ctest" --test-dir "${work_dir}/outside" --no-tests=error -L recordings
    -V
)
foreach(expected IN ITEMS "sled: sled.twin" "sled: inner/sled.twin" "400 ticks" "100% tests passed.*out of 2")
    if(NOT output MATCHES "${expected}")
        message(FATAL_ERROR "the tests of the recordings do not say '${expected}':\n${output}")
    endif()
endforeach()
# A recording that is no whole one makes its test fail.
file(WRITE "${recordings}/broken.twin" "not a recording")
run("building with a broken recording" "${CMAKE_COMMAND}" --build "${work_dir}/outside")
execute_process(
    COMMAND "${cmake_programs}/ctest" --test-dir "${work_dir}/outside" RESULT_VARIABLE result OUTPUT_VARIABLE output
    ERROR_VARIABLE output
)
if(result EQUAL 0 OR NOT output MATCHES "1 tests failed out of 3")
    message(FATAL_ERROR "a broken recording passed as a test:\n${output}")
endif()

# What README.md prints is a whole project, and every command under it works; else newcomers stumble.
function(write_readme_block language file)
    file(READ "${source_dir}/README.md" text)
    string(FIND "${text}" "```${language}\n" begin)
    if(begin EQUAL -1)
        message(FATAL_ERROR "README.md has no block of ${language}")
    endif()
    string(LENGTH "```${language}\n" fence)
    math(EXPR begin "${begin} + ${fence}")
    string(SUBSTRING "${text}" ${begin} -1 text)
    string(FIND "${text}" "\n```" end)
    string(SUBSTRING "${text}" 0 ${end} text)
    file(WRITE "${file}" "${text}\n")
endfunction()

write_readme_block(cpp "${work_dir}/walker/main.cpp")
write_readme_block(cmake "${work_dir}/walker/CMakeLists.txt")
run(
    "README: configure" "${CMAKE_COMMAND}" -S "${work_dir}/walker" -B "${work_dir}/walker/build" -G Ninja
    "-DCMAKE_PREFIX_PATH=${work_dir}/prefix" "-DCMAKE_CXX_COMPILER=${compiler}"
)
run("README: build" "${CMAKE_COMMAND}" --build "${work_dir}/walker/build")
set(walker "${work_dir}/walker/build/walker")
foreach(name IN ITEMS a b)
    run("README: record" "${walker}" record walker -o "${work_dir}/${name}.twin" --from bot:7)
endforeach()
run("README: play" "${walker}" play "${work_dir}/a.twin" --frames 144)
run("README: verify" "${walker}" verify "${work_dir}/a.twin")
run("README: state" "${walker}" state "${work_dir}/a.twin" --at 100)
run("README: diff" "${walker}" diff "${work_dir}/a.twin" "${work_dir}/b.twin")
run("help" "${walker}" record --help)
if(NOT output MATCHES "walker record walker -o")
    message(FATAL_ERROR "the help of an outside program speaks of another one:\n${output}")
endif()

# The installed command, when this build has one, answers for itself.
if(EXISTS "${build_dir}/tools/twinstep")
    run("the installed command" "${work_dir}/prefix/bin/twinstep" --help)
endif()

# SPDX-License-Identifier: MIT
twinstep_add_tests(
    net_simulated_network
    SOURCES netsim_network_test.cpp
    LIBRARIES twinstep::net
    LABELS net
)

# The harness lives with the command, because a recorder belongs to a match: its headers are private.
twinstep_add_tests(
    net_netsim
    SOURCES netsim_match_test.cpp netsim_numbers_test.cpp
    LIBRARIES twinstep::tools twinstep::net twinstep_game_marine
    LABELS net
)
# Two slow files that share names: better compiled side by side.
set_target_properties(twinstep_net_netsim_tests PROPERTIES UNITY_BUILD OFF)
target_include_directories(twinstep_net_netsim_tests PRIVATE "${PROJECT_SOURCE_DIR}/tools/src")

# Thirty matches of 60 s each with random faults; the same seeds in every run.
add_test(
    NAME "net_netsim: thirty seeded matches"
    COMMAND twinstep_command netsim --seeds 1:30 --jobs 2 --json
)
set_tests_properties("net_netsim: thirty seeded matches" PROPERTIES LABELS "net;netsim" TIMEOUT 600)

# The reference games take the place of the tiny one: a marine's minute is a quarter of a second of
# work, a second of the other two with their large states is about one.
foreach(match "marine 1:8" "swarm 1:1 --peers 2 --ticks 120" "pile 1:1 --ticks 180")
    separate_arguments(arguments UNIX_COMMAND "${match}")
    list(POP_FRONT arguments game)
    add_test(
        NAME "net_netsim: seeded matches of ${game}"
        COMMAND twinstep_command netsim --game ${game} --seeds ${arguments} --jobs 2 --json
    )
    set_tests_properties("net_netsim: seeded matches of ${game}" PROPERTIES LABELS "net;netsim" TIMEOUT 300)
endforeach()

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
target_include_directories(twinstep_net_netsim_tests PRIVATE "${PROJECT_SOURCE_DIR}/tools/src")

# Thirty matches of 60 s each with random faults; the same seeds in every run.
add_test(
    NAME "net_netsim: thirty seeded matches"
    COMMAND twinstep_command netsim --seeds 1:30 --jobs 2 --json
)
set_tests_properties("net_netsim: thirty seeded matches" PROPERTIES LABELS "net;netsim" TIMEOUT 600)

# SPDX-License-Identifier: MIT
twinstep_add_tests(
    net_match
    SOURCES
        ../support/allocation_counter.cpp
        match_donors_test.cpp
        match_hashes_test.cpp
        match_joins_test.cpp
        match_pace_test.cpp
        match_parts_test.cpp
        match_players_test.cpp
        match_redundancy_test.cpp
        match_settings_test.cpp
        match_states_test.cpp
        match_ticks_test.cpp
        match_wake_test.cpp
        server_simulation_test.cpp
        tick_ring_test.cpp
    LIBRARIES twinstep::net twinstep::sim
)
# The pieces are private: their tests look into the module.
target_include_directories(twinstep_net_match_tests PRIVATE ${PROJECT_SOURCE_DIR}/net/src)
target_compile_definitions(twinstep_net_match_tests PRIVATE TWINSTEP_DOCS="${PROJECT_SOURCE_DIR}/docs")

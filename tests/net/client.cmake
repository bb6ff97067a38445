# SPDX-License-Identifier: MIT
twinstep_add_tests(
    net_client
    SOURCES
        ../support/allocation_counter.cpp
        client_delay_test.cpp
        client_hostile_test.cpp
        client_match_test.cpp
        client_pace_test.cpp
        client_parts_test.cpp
        client_redundancy_test.cpp
        client_session_test.cpp
    LIBRARIES twinstep::net
    LABELS net
)
target_include_directories(twinstep_net_client_tests PRIVATE "${PROJECT_SOURCE_DIR}/net/src")

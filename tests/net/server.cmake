# SPDX-License-Identifier: MIT
twinstep_add_tests(
    net_server
    SOURCES relay_allocation_test.cpp udp_port_test.cpp wake_tree_test.cpp ../support/allocation_counter.cpp
    LIBRARIES twinstep::net
)
target_include_directories(twinstep_net_server_tests PRIVATE "${PROJECT_SOURCE_DIR}/net/src")

# SPDX-License-Identifier: MIT
twinstep_add_tests(
    net_simulated_network
    SOURCES netsim_network_test.cpp
    LIBRARIES twinstep::net
    LABELS net
)

# SPDX-License-Identifier: MIT
twinstep_add_tests(
    net_match
    SOURCES
        match_ticks_test.cpp
    LIBRARIES twinstep::net
)

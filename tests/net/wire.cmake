# SPDX-License-Identifier: MIT
twinstep_add_tests(
    net_wire
    SOURCES
        wire_bundle_test.cpp
    LIBRARIES twinstep::net
)

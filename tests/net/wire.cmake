# SPDX-License-Identifier: MIT
twinstep_add_tests(
    net_wire
    SOURCES
        ../support/allocation_counter.cpp
        blob_hostile_test.cpp
        blob_transfer_test.cpp
        wire_bundle_test.cpp
    LIBRARIES twinstep::net
)

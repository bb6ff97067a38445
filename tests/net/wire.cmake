# SPDX-License-Identifier: MIT
# One datagram of each kind and a strict receiver of them: for tests, fuzzing and other decoders.
add_library(twinstep_wire_samples STATIC wire_check.cpp wire_samples.cpp)
target_include_directories(twinstep_wire_samples PUBLIC "${CMAKE_CURRENT_SOURCE_DIR}" "${CMAKE_CURRENT_SOURCE_DIR}/../support")
target_link_libraries(twinstep_wire_samples PUBLIC twinstep::net PRIVATE twinstep_build)

# It counts allocations, so it replaces operator new for everything in it.
twinstep_add_tests(
    net_wire
    SOURCES
        ../support/allocation_counter.cpp
        blob_hostile_test.cpp
        blob_transfer_test.cpp
        wire_bundle_test.cpp
        wire_damage_test.cpp
        wire_golden_test.cpp
        wire_limits_test.cpp
        wire_property_test.cpp
    LIBRARIES twinstep_wire_samples
)
target_compile_definitions(
    twinstep_net_wire_tests PRIVATE TWINSTEP_WIRE_FIXTURES="${CMAKE_CURRENT_SOURCE_DIR}/fixtures/wire_1_0.txt"
)

# SPDX-License-Identifier: MIT
twinstep_add_tests(
    net_session
    SOURCES session_admission_test.cpp session_crypto_test.cpp session_fake_match.cpp
            session_host_test.cpp session_noise_test.cpp session_peers_test.cpp session_strangers_test.cpp
            session_token_test.cpp ../support/allocation_counter.cpp
    LIBRARIES twinstep::net
    LABELS net
)
if(TWINSTEP_NET_CRYPTO)
    # The Noise vectors go on after the handshake, with packets that are not ours.
    target_link_libraries(twinstep_net_session_tests PRIVATE PkgConfig::sodium)
    target_compile_definitions(twinstep_net_session_tests PRIVATE TWINSTEP_NET_CRYPTO=1)
endif()

find_package(Python3 REQUIRED COMPONENTS Interpreter)
add_test(NAME "net_session: every test that a threat names exists"
         COMMAND Python3::Interpreter "${CMAKE_CURRENT_SOURCE_DIR}/../support/named_tests.py" "${PROJECT_SOURCE_DIR}"
                 docs/threats.md
)
set_tests_properties("net_session: every test that a threat names exists" PROPERTIES LABELS net)

# SPDX-License-Identifier: MIT
twinstep_add_tests(net_server SOURCES udp_port_test.cpp LIBRARIES twinstep::net)

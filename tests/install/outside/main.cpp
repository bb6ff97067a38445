// SPDX-License-Identifier: MIT
// A program of somebody else's, built against the installed package and nothing besides.
#include <cstdio>

int main() {
    std::puts("outside project: ok");
    return 0;
}

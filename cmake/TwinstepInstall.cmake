# SPDX-License-Identifier: MIT
# Installs headers, libraries, the command and a CMake package.

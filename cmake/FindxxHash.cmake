# SPDX-License-Identifier: MIT
# Finds xxHash's header. Only the header is used (XXH_INLINE_ALL in one file), so that every
# target that can compile C++ hashes the same way without a library of its own.
find_path(xxHash_INCLUDE_DIR NAMES xxhash.h)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(xxHash REQUIRED_VARS xxHash_INCLUDE_DIR)
mark_as_advanced(xxHash_INCLUDE_DIR)

# SPDX-License-Identifier: MIT
# twinstep_source_digest(TARGET FILES...): gives a game's own files the macro TWINSTEP_GAME_SOURCE_DIGEST, a
# digest of the files named, which recordings carry so that a divergence can say "made by another build".
# The game shows it as `static const std::string_view source_digest;`, defined in one of its .cpp files.
function(twinstep_source_digest target)
    set(all "")
    foreach(file IN LISTS ARGN)
        file(SHA256 "${CMAKE_CURRENT_SOURCE_DIR}/${file}" digest)
        string(APPEND all "${file} ${digest}\n")
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
    endforeach()
    string(SHA256 digest "${all}")
    string(SUBSTRING "${digest}" 0 32 digest)
    target_compile_definitions(${target} PRIVATE "TWINSTEP_GAME_SOURCE_DIGEST=\"${digest}\"")
endfunction()

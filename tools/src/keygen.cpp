// SPDX-License-Identifier: MIT
// twinstep keygen: a pair of keys for signing recordings.
#include "command.hpp"
#include "options.hpp"

#include "twinstep/replay/format.hpp"
#include "twinstep/replay/signature.hpp"

#include <fmt/format.h>

#include <memory>

namespace twinstep::tools {

namespace {

Exit keygen(Context& context, const std::string& path) {
    const auto key = replay::create_key_files(path);
    if (!key) {
        return Context::refuse(key.error());
    }
    const std::string shown = replay::to_hex(*key);
    context.print({{"secret_file", path}, {"public_file", path + ".pub"}, {"key", shown}});
    context.say(fmt::format("{}: the secret key; keep it to yourself", path));
    context.say(fmt::format("{}.pub: the public key, for whoever checks", path));
    context.say(fmt::format("key {}", shown));
    return Exit::done;
}

} // namespace

void declare_keygen(CLI::App& app, Context& context, Action& action) {
    CLI::App& verb = declare_verb(app,
                                  context,
                                  "keygen",
                                  "Make a pair of keys for signing recordings",
                                  "twinstep keygen referee.key");
    auto path = std::make_shared<std::string>();
    verb.add_option("file", *path, "File for the secret key; FILE.pub will hold the public one")
        ->required()
        ->check(not_empty());
    verb.callback([&action, path] { action = [path](Context& c) { return keygen(c, *path); }; });
}

} // namespace twinstep::tools

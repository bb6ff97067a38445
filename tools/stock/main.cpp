// SPDX-License-Identifier: MIT
// The stock twinstep command: all verbs, with the reference games.
#include "demo_sources.hpp"
#include "marine/marine.hpp"
#include "pile/pile.hpp"
#include "swarm/swarm.hpp"

#include "twinstep/tools/run.hpp"

int main(int argc, char** argv) {
    using namespace twinstep;
    tools::GameEntry marine = tools::entry_for<games::Marine>();
    tools::add_demo_sources(marine);
    return tools::run(
        {std::move(marine), tools::entry_for<games::Swarm>(), tools::entry_for<games::Pile>()},
        argc,
        argv);
}

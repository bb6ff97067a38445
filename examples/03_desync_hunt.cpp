// SPDX-License-Identifier: MIT
// A state that `serialize` forgot: a fork finds it on one machine and names tick, section and
// field.
#include <twinstep/replay/difference.hpp>
#include <twinstep/sim.hpp>

#include <cstdint>
#include <cstdio>

namespace {

struct Idle {
    std::uint8_t unused = 0;

    template <class Archive>
    void serialize(Archive& archive) {
        archive(CEREAL_NVP(unused));
    }
};

class Farm {
public:
    using Input = Idle;
    static constexpr std::string_view id = "farm";
    static constexpr twinstep::TickRate tick_rate{20};

    void reset(const twinstep::Setup&) { *this = Farm{}; }

    void step(const twinstep::Step<Input>&) {
        ++season_;
        if (season_ == 100) {
            grain_ += 7;
            season_ = 0;
        }
    }

    template <class Archive>
    void serialize(Archive& archive) {
        // The fault: season_ decides what later steps do, and is not here.
        archive(twinstep::section("store", CEREAL_NVP(grain_)));
    }

private:
    std::int32_t grain_ = 0;
    std::int32_t season_ = 0;
};

class Nobody final : public twinstep::Source {
public:
    twinstep::Result<twinstep::Supply> next(twinstep::Tick tick,
                                            twinstep::TickFrame& frame) override {
        frame.reset(tick, 1);
        return twinstep::Supply::ready;
    }
};

} // namespace

int main() {
    twinstep::GameSimulation<Farm> first;
    twinstep::GameSimulation<Farm> second;
    Nobody nobody;
    twinstep::Driver first_driver(first, nobody);
    twinstep::Driver second_driver(second, nobody);
    twinstep::Bytes snapshot;
    if (!first.reset({}) || !second.reset({}) || !first_driver.advance(30)) {
        return 1;
    }

    // The fork: tick 30 of the first is loaded into the second; from here both take the same steps.
    first.save(snapshot);
    if (!second.load(snapshot)) {
        return 1;
    }
    while (first.tick().value < 1000) {
        if (!first_driver.advance(1) || !second_driver.advance(1)) {
            return 1;
        }
        if (const auto found = twinstep::replay::compare_states(first, second)) {
            std::printf("tick %llu, section %s, field %s: %s in the first, %s in the fork\n",
                        static_cast<unsigned long long>(found->tick.value),
                        found->section.c_str(),
                        found->field.c_str(),
                        found->expected.c_str(),
                        found->actual.c_str());
            return found->tick.value == 100 && found->field == "grain" ? 0 : 1;
        }
    }
    std::puts("no difference: the fault was not found");
    return 1;
}

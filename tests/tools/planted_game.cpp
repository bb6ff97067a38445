// SPDX-License-Identifier: MIT
// A command with a game that has the fault its configuration names: one for each check of verify.
#include "twinstep/sim.hpp"
#include "twinstep/tools/run.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>

namespace {

constexpr std::uint64_t faulty_step = 49; // Its state is that of tick 50.

/// A byte of memory that nobody has written.
std::int32_t fresh_heap() {
    std::int32_t sum = 0;
    void* const memory = ::operator new(48);
    const volatile unsigned char* const bytes = static_cast<unsigned char*>(memory);
    for (std::size_t i = 32; i < 48; ++i) {
        sum += bytes[i];
    }
    ::operator delete(memory);
    return sum;
}

[[gnu::noinline]] std::int32_t fresh_stack() {
    std::int32_t sum = 0;
    volatile unsigned char bytes[512]; // NOLINT: the fault that is planted.
    volatile unsigned char* first = bytes;
    asm volatile("" : "+r"(first));
    for (std::size_t i = 0; i < 512; ++i) {
        sum += first[i];
    }
    return sum;
}

/// A number that says in which order the addresses of new objects are.
std::int32_t pointer_order() {
    std::array<std::unique_ptr<std::int64_t>, 8> objects;
    std::int32_t code = 0;
    for (std::size_t i = 0; i < objects.size(); ++i) {
        objects[i] = std::make_unique<std::int64_t>(0);
        for (std::size_t k = 0; k < i; ++k) {
            code = (code << 1) | (objects[k].get() < objects[i].get() ? 1 : 0);
        }
    }
    return code;
}

/// A number that says in which order a set of pointers is walked.
std::int32_t iteration_order() {
    std::array<std::unique_ptr<std::int32_t>, 8> objects;
    std::unordered_set<const std::int32_t*> set;
    for (std::size_t i = 0; i < objects.size(); ++i) {
        objects[i] = std::make_unique<std::int32_t>(static_cast<std::int32_t>(i));
        set.insert(objects[i].get());
    }
    std::int32_t code = 0;
    for (const std::int32_t* object : set) {
        code = code * 8 + *object;
    }
    return code;
}

class Planted {
public:
    struct Input {
        std::int8_t forward = 0;

        template <class Archive>
        void serialize(Archive& archive) {
            archive(CEREAL_NVP(forward));
        }
    };

    static constexpr std::string_view id = "planted";
    static constexpr twinstep::TickRate tick_rate{50};

    void reset(const twinstep::Setup&) { *this = {}; }

    void step(const twinstep::Step<Input>& step) {
        score_ += step.players[0].input.forward;
        const auto plant = step.setup.config.find("plant");
        if (step.tick.value == faulty_step - 4) {
            unsaved_ = 9;
        }
        if (step.tick.value == faulty_step && plant != step.setup.config.end()) {
            fault_ = fault(plant->second, step);
            if (plant->second == "nan") {
                ratio_ /= static_cast<float>(fault_);
            }
        }
    }

    template <class Archive>
    void serialize(Archive& archive) {
        archive(twinstep::section("game", CEREAL_NVP(score_)),
                twinstep::section("faults", CEREAL_NVP(fault_), CEREAL_NVP(ratio_)));
    }

    static Input bot(twinstep::Random& random, twinstep::Tick, twinstep::Slot) {
        return {static_cast<std::int8_t>(random.below(5))};
    }

private:
    std::int32_t fault(const std::string& plant, const twinstep::Step<Input>& step) const {
        if (plant == "heap") {
            return fresh_heap();
        }
        if (plant == "stack") {
            return fresh_stack();
        }
        if (plant == "pointers") {
            return pointer_order();
        }
        if (plant == "iteration") {
            return iteration_order();
        }
        if (plant == "workers") {
            return static_cast<std::int32_t>(step.workers.count());
        }
        if (plant == "unsaved") {
            return unsaved_;
        }
        if (plant == "clock") {
            return static_cast<std::int32_t>(
                std::chrono::steady_clock::now().time_since_epoch().count());
        }
        if (plant == "locale") {
            return static_cast<std::int32_t>(10 * std::strtod("1,5", nullptr));
        }
        if (plant == "zone") {
            const std::time_t noon = 43'200;
            std::tm parts{};
            ::localtime_r(&noon, &parts);
            return parts.tm_hour;
        }
        if (plant == "static") {
            static std::int32_t runs = 0;
            return ++runs;
        }
        return 0;
    }

    std::int64_t score_ = 0;
    std::int32_t fault_ = 0;
    float ratio_ = 0.0F;
    std::int32_t unsaved_ = 0; ///< A planted fault: it is missing in serialize.
};

} // namespace

int main(int argc, char** argv) {
    return twinstep::tools::run<Planted>(argc, argv);
}

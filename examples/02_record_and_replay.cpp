// SPDX-License-Identifier: MIT
// The libraries without the command: record a session, replay it, compare every hash.
#include <twinstep/replay/playback.hpp>
#include <twinstep/replay/recorder.hpp>
#include <twinstep/sim.hpp>

#include <cstdint>
#include <cstdio>
#include <filesystem>

namespace {

struct Press {
    bool jump = false;

    template <class Archive>
    void serialize(Archive& archive) {
        archive(CEREAL_NVP(jump));
    }
};

class Jumper {
public:
    using Input = Press;
    static constexpr std::string_view id = "jumper";
    static constexpr twinstep::TickRate tick_rate{60};

    void reset(const twinstep::Setup&) { height_ = speed_ = 0; }

    void step(const twinstep::Step<Input>& step) {
        if (step.players[0].input.jump && height_ == 0) {
            speed_ = 900 + static_cast<std::int32_t>(step.random.below(100));
        }
        height_ += speed_;
        speed_ -= 40;
        if (height_ <= 0) {
            height_ = speed_ = 0;
        }
    }

    template <class Archive>
    void serialize(Archive& archive) {
        archive(twinstep::section("jumper", CEREAL_NVP(height_), CEREAL_NVP(speed_)));
    }

private:
    std::int32_t height_ = 0;
    std::int32_t speed_ = 0;
};

/// Stands in for a keyboard: jumps every 50 ticks, for ten seconds.
class Keyboard final : public twinstep::Source {
public:
    twinstep::Result<twinstep::Supply> next(twinstep::Tick tick,
                                            twinstep::TickFrame& frame) override {
        if (tick.value == 600) {
            return twinstep::Supply::end;
        }
        input_.clear();
        twinstep::encode_input(Press{tick.value % 50 == 0}, input_);
        frame.reset(tick, 1);
        frame.set_input(twinstep::Slot{0}, input_);
        return twinstep::Supply::ready;
    }

private:
    twinstep::Bytes input_;
};

int report(const twinstep::Error& error) {
    std::fprintf(stderr, "%s\n", twinstep::to_string(error).c_str());
    return 1;
}

} // namespace

int main(int argc, char** argv) {
    const std::string path =
        argc > 1 ? argv[1] : (std::filesystem::temp_directory_path() / "jumper.twin").string();
    std::filesystem::remove(path);
    twinstep::GameSimulation<Jumper> simulation;
    if (auto reset = simulation.reset({42, 1, {}}); !reset) {
        return report(reset.error());
    }

    // Play and record: the recorder is one more observer behind the driver.
    Keyboard keyboard;
    auto recorder = twinstep::replay::Recorder::create(path, simulation);
    if (!recorder) {
        return report(recorder.error());
    }
    twinstep::Driver driver(simulation, keyboard);
    driver.add(*recorder);
    if (auto played = driver.advance(UINT64_MAX); !played) {
        return report(played.error());
    }
    if (auto closed = recorder->close(); !closed) {
        return report(closed.error());
    }

    // Replay: the recording is the source, and its hashes are compared with those of the replay.
    twinstep::GameSimulation<Jumper> again;
    auto verified = twinstep::replay::verify_file(again, path);
    if (!verified) {
        return report(verified.error());
    }
    std::printf("%llu ticks, %llu hashes checked, %s\n",
                static_cast<unsigned long long>(verified->ticks),
                static_cast<unsigned long long>(verified->hashes_checked),
                verified->divergence ? "DIVERGES" : "identical");
    return verified->divergence || verified->hashes_checked == 0 ? 1 : 0;
}

// SPDX-License-Identifier: MIT
// Finds the fewest inputs of a recording with which something still goes wrong.
#pragma once

#include "twinstep/replay/edit.hpp"
#include "twinstep/sim/driver.hpp"
#include "twinstep/sim/simulation.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace twinstep::replay {

/// Most bytes of frames that a search holds in memory.
inline constexpr std::uint64_t bisect_bytes_max = std::uint64_t{1} << 30;

/// Something that enters a simulation and may be left out: one slot's input, which then is that of
/// a player who does nothing, or the events of a tick.
struct InputAtom {
    Tick tick;
    bool is_events = false;
    Slot slot; ///< If it is an input.
};

/// Everything that entered a recorded session, in memory, and where it began.
class RecordedInputs {
public:
    /// Reads a recording and prepares the simulation for it. `neutral` is the encoded input of a
    /// player who does nothing. Errors: those of Reader and prepare_simulation; limit_exceeded.
    static Result<RecordedInputs>
    read(Simulation& simulation, const ReadableRecording& source, ByteView neutral);

    RecordedInputs(RecordedInputs&&) noexcept;
    RecordedInputs& operator=(RecordedInputs&&) noexcept;
    ~RecordedInputs();

    Tick first() const;
    Tick end() const;
    /// In the order of ticks, of a tick events first, then slots.
    const std::vector<InputAtom>& atoms() const;
    bool build_differs() const;

    /// Another simulation of the same kind in the first state. Errors: those of reset and load.
    Result<std::unique_ptr<Simulation>> make(const Simulation& kind) const;

    struct Impl;

    const Impl& impl() const { return *impl_; }

private:
    explicit RecordedInputs(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

/// Inputs that are kept in part: the number of the atom, and the bytes that take its place.
using ReplacedInputs = std::map<std::size_t, Bytes>;

/// Some of the inputs, up to a tick. Borrows what it was chosen from.
class InputChoice {
public:
    /// Keeps all of them, to the end.
    explicit InputChoice(const RecordedInputs& inputs);

    /// Keeps the atoms with these numbers, which rise, and ends before `until`.
    InputChoice(const RecordedInputs& inputs,
                std::vector<std::size_t> kept,
                Tick until,
                ReplacedInputs replaced = {});

    const RecordedInputs& inputs() const { return *inputs_; }

    const std::vector<std::size_t>& kept() const { return kept_; }

    Tick until() const { return until_; }

    /// The frames from the first tick on, each time anew.
    std::unique_ptr<Source> open() const;

    /// The frame of a tick from first() to before until(). Errors: none for what was read.
    Result<void> frame(Tick tick, TickFrame& frame) const;

private:
    const RecordedInputs* inputs_;
    std::vector<std::size_t> kept_;
    Tick until_;
    ReplacedInputs replaced_;
};

/// Tries a choice: where it goes wrong, if it does.
using ChoiceTest = std::function<Result<std::optional<Divergence>>(const InputChoice& choice)>;

/// What can go wrong on one machine.
struct DivergenceCheck {
    enum class Kind : std::uint8_t {
        fork,       ///< A second simulation, loaded from the first every so many ticks.
        round_trip, ///< A second simulation, saved and loaded in place every so many ticks.
        twice,      ///< The same again, after the first run.
    };
    Kind kind = Kind::twice;
    std::uint64_t every = 1; ///< Ticks, at least 1; not for `twice`.
};

/// Tries a choice with a check. A state that does not load is a divergence in the field "load".
/// Errors: the driver's.
Result<std::optional<Divergence>>
run_check(const Simulation& kind, const InputChoice& choice, const DivergenceCheck& check);

struct BisectOptions {
    std::uint64_t runs_max = UINT64_MAX;
    /// Asked before each run; false ends the search with what was found so far.
    std::function<bool(std::uint64_t runs, std::size_t inputs)> goes_on = {};
};

struct BisectReport {
    std::uint64_t runs = 0;
    std::uint64_t failed_runs = 0; ///< Choices that could not be played; taken as good.
    std::size_t inputs_before = 0; ///< Up to where the whole recording goes wrong.
    bool minimal = false;          ///< Without any one of them nothing goes wrong.
    std::vector<std::size_t> kept; ///< Numbers of atoms.
    ReplacedInputs replaced;       ///< Those of which some fields do not matter, without these.
    Tick until;                    ///< The first wrong state: what comes after does not matter.
    std::optional<Divergence> divergence; ///< Of what was kept; nothing if all is well.
};

/// Delta debugging over inputs: whole slots first, then ever shorter runs of ticks, until none can
/// be left out; then the fields of what is left, where inputs have a fixed layout. What goes wrong
/// may be something else in the end than in the beginning.
/// Determinism: what is tried depends on the answers of the test only. Errors: the test's, for the
/// whole recording.
Result<BisectReport> find_inputs(const RecordedInputs& inputs,
                                 const ChoiceTest& test,
                                 const BisectOptions& options = {});

/// Plays a choice and records it as a session of its own. Errors: those of Driver and Writer.
Result<EditReport> record_choice(const Simulation& kind,
                                 const InputChoice& choice,
                                 std::unique_ptr<FileSink> sink,
                                 const EditOptions& options = {});

} // namespace twinstep::replay

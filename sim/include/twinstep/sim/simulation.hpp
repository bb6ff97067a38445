// SPDX-License-Identifier: MIT
// What a simulation is to everybody else: bytes and ticks in, hashes and snapshots out.
#pragma once

#include "twinstep/sim/archive.hpp"
#include "twinstep/sim/assert.hpp"
#include "twinstep/sim/frame.hpp"
#include "twinstep/sim/hash.hpp"
#include "twinstep/sim/result.hpp"
#include "twinstep/sim/types.hpp"
#include "twinstep/sim/workers.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace twinstep {

/// What a simulation is; two runs are comparable only where all of it is equal.
struct SimulationInfo {
    std::string id;            ///< Lower-case ASCII name, such as "marine".
    std::uint32_t version = 1; ///< Raised whenever the behaviour of a step changes.
    std::string source_digest; ///< Digest of the source that was built; tells builds apart.
    TickRate tick_rate;
    std::uint16_t slots_min = 1;
    std::uint16_t slots_max = 1;
    std::string input_schema; ///< Layout of one slot's input, as SchemaArchive spells it.
    std::string state_schema; ///< Layout of the state.
};

/// What a session starts from. Together with the inputs it decides everything that follows.
struct Setup {
    std::uint64_t seed = 0;
    std::uint16_t slots = 1;
    std::map<std::string, std::string> config; ///< The game's own settings, frozen for the session.
};

/// Longest config of a session: entries, bytes of each key and value, bytes of all of them. The
/// whole leaves room in a manifest for everything else.
inline constexpr std::size_t config_entries_max = 256;
inline constexpr std::size_t config_text_bytes_max = 4096;
inline constexpr std::size_t config_bytes_max = std::size_t{1} << 19;

/// A deterministic state machine. One tick is prepare, then step; nothing else changes the state
/// except reset and load.
/// Thread: one owner at a time.
class Simulation {
public:
    virtual ~Simulation() = default;
    Simulation(const Simulation&) = delete;
    Simulation& operator=(const Simulation&) = delete;

    virtual const SimulationInfo& info() const = 0;

    /// Goes to state 0 of a session. Errors: bad_setup, wrong_slots; the state is then unchanged.
    virtual Result<void> reset(const Setup& setup) = 0;

    /// The set-up of the last reset.
    virtual const Setup& setup() const = 0;

    /// The tick whose step comes next.
    virtual Tick tick() const = 0;

    /// Decodes the inputs of the next step. The frame must stay as it is until then: events are
    /// not copied. Requires a reset. Errors: wrong_tick, wrong_slots, limit_exceeded (state
    /// tick_max has no step), or what an input's bytes are wrong in; the state is unchanged.
    virtual Result<void> prepare(const TickFrame& frame) = 0;

    /// Takes the prepared step. Requires a successful prepare since the last step.
    virtual void step() = 0;

    /// Hashes every section of the current state. The reference is valid until the next call.
    virtual const StateHashes& hash() = 0;

    /// Whether a float of the state that was hashed last is NaN, tracked vectors left aside. A step
    /// that makes one has lost count of something; find_nan says where.
    virtual bool has_nan() const { return false; }

    /// Replaces `target` with a snapshot of the whole state; its memory is reused.
    virtual void save(Bytes& target) = 0;

    /// Writes the sections of the state as `save` does behind the head of a snapshot, to a sink
    /// that may share what has not changed.
    virtual void save_sections(ByteSink& sink);

    /// Goes to the state of a snapshot that `save` of an equal simulation with an equal set-up
    /// made. Requires a reset. Errors: as for hostile bytes; bad_setup if the snapshot is of
    /// another seed; the state is then unchanged.
    virtual Result<void> load(ByteView snapshot) = 0;

    /// Goes in place to a state that this simulation was in under the same set-up: `sections` are
    /// what save_sections wrote, but without the elements of tracked vectors, of which `chunks`
    /// changes what differs. What `serialize` does not name stays as it is. Yields false, and has
    /// done nothing, where that is not possible. Errors: as for hostile bytes; the state is then
    /// undefined until the next reset or load.
    virtual Result<bool> load_in_place(Tick tick, ByteView sections, detail::ChunkSource& chunks);

    /// Shows the state as a named tree.
    virtual void visit(FieldVisitor& visitor) const = 0;

    /// Shows one slot's encoded input as a named tree. Errors: what the bytes are wrong in.
    virtual Result<void> visit_input(ByteView input, FieldVisitor& visitor) const = 0;

    /// Another simulation of the same kind, not yet reset, without the workers of this one.
    virtual std::unique_ptr<Simulation> make_another() const = 0;

    /// Who takes the parts of a step's loops from now on: the caller alone if null. They must stay
    /// until others are set, and the outcome does not depend on them.
    void set_workers(Workers* workers) noexcept {
        workers_ = workers != nullptr ? workers : &alone_;
    }

    Workers& workers() const noexcept { return *workers_; }

    /// Each chunk of a tracked vector is computed again once in so many hashes, to prove that every
    /// write was marked: 1 for all chunks at every hash. Requires at least 1.
    void set_recheck_hashes(std::uint32_t hashes) {
        TWINSTEP_ASSERT(hashes >= 1);
        recheck_hashes_ = hashes;
    }

    std::uint32_t recheck_hashes() const noexcept { return recheck_hashes_; }

protected:
    Simulation() = default;

private:
    std::uint32_t recheck_hashes_ = recheck_hashes_default();
    SerialWorkers alone_;
    Workers* workers_ = &alone_;
};

/// The hashes of a snapshot's bytes; equal to what hash() said when it was saved, on every machine.
/// Errors: as for hostile bytes.
Result<StateHashes> hash_snapshot(ByteView snapshot);

/// A field of a state: its section, and its path in it, such as "bodies[2].x".
struct FieldPlace {
    std::string section;
    std::string field;
};

/// The first NaN of a state, in the order of `serialize`; nothing if there is none. Cost: a look at
/// every field.
std::optional<FieldPlace> find_nan(const Simulation& simulation);

} // namespace twinstep

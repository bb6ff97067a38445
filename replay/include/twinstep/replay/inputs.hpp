// SPDX-License-Identifier: MIT
// The inputs of recordings, field by field: compared, and as a table for spreadsheets.
#pragma once

#include "twinstep/replay/reader.hpp"
#include "twinstep/replay/text.hpp"
#include "twinstep/sim/simulation.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace twinstep::replay {

/// One field of an input, such as "turn" or "buttons[2]".
struct InputField {
    std::string path;
    std::string value; ///< Decimal text; floats in shortest round-trip form.
    bool is_text = false;
};

/// The fields of one slot's input, in the order of its schema. Errors: what the bytes are wrong in.
Result<std::vector<InputField>> input_fields(const Simulation& simulation, ByteView input);

/// One field in which two recordings differ at a tick.
struct InputDifference {
    Tick tick;
    std::string field; ///< "slots[1].turn", "slots[1]" if a side has no input, "events[0]".
    std::string left;
    std::string right;
};

/// How two recordings' inputs compare.
struct InputComparison {
    Tick first; ///< First tick that both have.
    Tick end;   ///< After the last one; not after `first` if there is none.
    Tick left_first;
    Tick left_end;
    Tick right_first;
    Tick right_end;
    std::uint64_t ticks_compared = 0;
    std::uint64_t ticks_different = 0;
    std::uint64_t slots_different = 0; ///< Inputs of slots, over all ticks.
    std::uint64_t fields_different = 0;
};

/// Takes one difference.
using InputDifferenceSink = std::function<void(const InputDifference&)>;

/// Compares the inputs and events of all ticks that both recordings have, without simulating.
/// Length, form and first tick may differ. `simulation` names the fields; without it (null), or
/// where it cannot decode, inputs are compared as bytes. Errors: the readers'.
Result<InputComparison> compare_inputs(const Simulation* simulation,
                                       Reader left,
                                       Reader right,
                                       const InputDifferenceSink& sink);

/// What a table of inputs holds.
struct CsvReport {
    std::uint64_t ticks = 0;
    std::uint64_t columns = 0;
};

/// Most columns of a table.
inline constexpr std::size_t csv_columns_max = 16'384;

/// Writes the inputs as a table for spreadsheets (RFC 4180, lines without their CR LF): tick, for
/// each slot its state and a column a field, and events. Text that a spreadsheet would take for a
/// formula is preceded by an apostrophe. `open` is called twice, because a list in an input may
/// grow. Without a simulation the input is one column of hexadecimal digits. Errors: those of
/// `open`, Reader and `sink`; limit_exceeded for more than csv_columns_max columns.
Result<CsvReport> export_csv(const Simulation* simulation,
                             const std::function<Result<Reader>()>& open,
                             const LineSink& sink);

} // namespace twinstep::replay

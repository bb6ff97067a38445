// SPDX-License-Identifier: MIT
// Changes a state one bit at a time.
#include "twinstep/sim/coverage.hpp"

#include "section_frame.hpp"

#include "twinstep/sim/assert.hpp"
#include "twinstep/sim/field_paths.hpp"
#include "twinstep/sim/random.hpp"
#include "twinstep/sim/snapshot.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace twinstep {

namespace {

/// The names of all fields, elements of lists taken together.
class FieldNames final : public PathVisitor {
public:
    std::vector<FieldCoverage> fields;
    /// Of each section its leaves, in order, as places in `fields`.
    std::map<std::string, std::vector<std::size_t>, std::less<>> leaves;

private:
    void leaf(const std::string& section, const std::string& path, const FieldValue&) override {
        std::string name;
        for (const char c : path) {
            const bool index = !name.empty() && name.back() == '[' && c != ']';
            name += index ? "" : std::string(1, c);
        }
        const auto [found, fresh] = places_.emplace(section + '\0' + name, fields.size());
        if (fresh) {
            fields.push_back({section, name, 0, 0, 0});
        }
        leaves[section].push_back(found->second);
    }

    std::map<std::string, std::size_t> places_;
};

/// The values of one section, without names.
class SectionValues final : public FieldVisitor {
public:
    explicit SectionValues(std::string_view section)
        : section_(section) {}

    bool begin_section(std::string_view name) override { return name == section_; }

    void end_section() override {}

    void begin_object(std::string_view, bool) override {}

    void end_object() override {}

    void field(std::string_view, const FieldValue& value) override {
        const bool text = value.type == FieldValue::Type::text;
        values.push_back(text ? checksum64(std::as_bytes(std::span(value.text))) : value.bits);
    }

    std::vector<std::uint64_t> values;

private:
    std::string_view section_;
};

std::vector<std::uint64_t> values_of(const Simulation& simulation, std::string_view section) {
    SectionValues values(section);
    simulation.visit(values);
    return std::move(values.values);
}

/// Frames that were taken from a source once, as often as they are wanted.
class KeptFrames final : public Source {
public:
    explicit KeptFrames(Tick first)
        : first_(first) {}

    /// Errors: the source's.
    Result<void> take(Source& source, std::uint64_t count) {
        while (frames_.size() < count) {
            TickFrame frame;
            const Result<Supply> supply = source.next(first_ + frames_.size(), frame);
            if (!supply) {
                return fail(supply.error());
            }
            if (*supply != Supply::ready) {
                break;
            }
            frames_.push_back(std::move(frame));
        }
        return {};
    }

    Result<Supply> next(Tick tick, TickFrame& frame) override {
        if (tick < first_ || tick.value - first_.value >= frames_.size()) {
            return Supply::end;
        }
        frame = frames_[static_cast<std::size_t>(tick.value - first_.value)];
        return Supply::ready;
    }

    std::uint64_t count() const { return frames_.size(); }

private:
    Tick first_;
    std::vector<TickFrame> frames_;
};

/// Where the bytes of a section lie in a snapshot.
struct SectionRange {
    std::string name;
    std::size_t begin = 0;
    std::size_t end = 0;
};

/// Requires bytes that `save` made.
std::vector<SectionRange> ranges_of(ByteView snapshot) {
    std::vector<SectionRange> ranges;
    ByteReader reader(snapshot);
    TWINSTEP_ASSERT(read_snapshot_head(reader).has_value());
    while (reader.ok() && reader.remaining() > 0) {
        const detail::SectionFrame section = detail::read_section(reader, ranges.size());
        const std::size_t end = snapshot.size() - reader.remaining();
        ranges.push_back({std::string(section.name), end - section.bytes.size(), end});
    }
    TWINSTEP_ASSERT(reader.ok());
    return ranges;
}

class Coverage {
public:
    Coverage(Simulation& simulation, const CoverageOptions& options)
        : simulation_(simulation)
        , options_(options)
        , frames_(simulation.tick())
        , driver_(simulation, frames_) {}

    Result<CoverageReport> measure(Source& source) {
        if (auto begun = begin(source); !begun) {
            return fail(begun.error());
        }
        for (std::uint64_t sample = 0; sample < report_.samples; ++sample) {
            if (auto changed = change(sample); !changed) {
                return fail(changed.error());
            }
            if (options_.progress) {
                options_.progress(sample + 1, report_.samples);
            }
        }
        if (auto back = simulation_.load(start_); !back) {
            return fail(back.error());
        }
        report_.fields = std::move(names_.fields);
        return std::move(report_);
    }

private:
    Result<void> begin(Source& source);
    Result<void> change(std::uint64_t sample);
    Result<void> follow(const std::string& section, std::size_t leaf);
    bool noticed(const std::string& section, std::size_t leaf);

    Simulation& simulation_;
    const CoverageOptions& options_;
    KeptFrames frames_;
    Driver driver_;
    FieldNames names_;
    CoverageReport report_;
    Bytes start_;
    std::vector<SectionRange> ranges_;
    StateHashes start_hashes_;
    StateHashes end_hashes_; ///< Of the run without a change.
    std::map<std::string, std::vector<std::uint64_t>, std::less<>> start_values_;
    std::map<std::string, std::vector<std::uint64_t>, std::less<>> end_values_;
};

Result<void> Coverage::begin(Source& source) {
    if (auto taken = frames_.take(source, options_.ticks); !taken) {
        return taken;
    }
    if (frames_.count() == 0) {
        return fail(Error(SimErrc::wrong_tick, "tick", "there is no tick after this state"));
    }
    report_.tick = simulation_.tick();
    report_.ticks = frames_.count();
    simulation_.save(start_);
    simulation_.visit(names_);
    start_hashes_ = simulation_.hash();
    for (SectionRange& range : ranges_of(start_)) {
        report_.bytes += range.end - range.begin;
        start_values_[range.name] = values_of(simulation_, range.name);
        if (range.begin != range.end) {
            ranges_.push_back(std::move(range));
        }
    }
    report_.samples = std::min<std::uint64_t>(options_.samples_max, report_.bytes * 8);
    if (auto played = driver_.advance(frames_.count()); !played) {
        return fail(played.error());
    }
    end_hashes_ = simulation_.hash();
    for (const SectionRange& range : ranges_) {
        end_values_[range.name] = values_of(simulation_, range.name);
    }
    return {};
}

/// Changes one bit of a section, the sections in turn, and sees what comes of it.
Result<void> Coverage::change(std::uint64_t sample) {
    const SectionRange& range = ranges_[static_cast<std::size_t>(sample % ranges_.size())];
    Random random(options_.seed, Tick{sample});
    const auto size =
        static_cast<std::uint32_t>(std::min<std::size_t>(range.end - range.begin, UINT32_MAX));
    const std::size_t byte = range.begin + random.below(size);
    const auto mask = static_cast<std::byte>(1U << random.below(8));
    start_[byte] ^= mask;
    const Result<void> loaded = simulation_.load(start_);
    start_[byte] ^= mask;
    if (!loaded) {
        ++report_.refused;
        return {};
    }
    const std::vector<std::uint64_t> changed = values_of(simulation_, range.name);
    const std::vector<std::uint64_t>& before = start_values_[range.name];
    const auto differs =
        std::mismatch(before.begin(), before.end(), changed.begin(), changed.end());
    if (changed.size() != before.size() || differs.first == before.end()) {
        ++report_.reshaped;
        return {};
    }
    return follow(range.name, static_cast<std::size_t>(differs.first - before.begin()));
}

/// Plays on with one leaf of a section changed.
Result<void> Coverage::follow(const std::string& section, std::size_t leaf) {
    FieldCoverage& field = names_.fields[names_.leaves[section][leaf]];
    ++field.changed;
    field.unhashed += simulation_.hash().state == start_hashes_.state ? 1U : 0U;
    const Result<Advance> played = driver_.advance(frames_.count());
    if (!played) {
        return fail(played.error());
    }
    field.noticed += noticed(section, leaf) ? 1U : 0U;
    return {};
}

/// Whether the state at the end differs in more than what was changed.
bool Coverage::noticed(const std::string& section, std::size_t leaf) {
    const StateHashes& hashes = simulation_.hash();
    for (std::size_t i = 0; i < hashes.sections.size(); ++i) {
        if (hashes.sections[i].hash == end_hashes_.sections[i].hash) {
            continue;
        }
        if (hashes.sections[i].name != section) {
            return true;
        }
        const std::vector<std::uint64_t>& straight = end_values_[section];
        const std::vector<std::uint64_t> values = values_of(simulation_, section);
        if (values.size() != straight.size()) {
            return true;
        }
        for (std::size_t at = 0; at < values.size(); ++at) {
            if (values[at] != straight[at] && at != leaf) {
                return true;
            }
        }
    }
    return false;
}

} // namespace

Result<CoverageReport>
measure_coverage(Simulation& simulation, Source& source, const CoverageOptions& options) {
    TWINSTEP_ASSERT(options.samples_max >= 1);
    return Coverage(simulation, options).measure(source);
}

} // namespace twinstep

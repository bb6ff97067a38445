// SPDX-License-Identifier: MIT
// The stages of a desync search.
#include "desync_search.hpp"

#include <algorithm>
#include <bit>

namespace twinstep::net {

void DesyncSearch::start(Micros now, const Start& start) {
    parties_ = start.parties;
    owing_ = start.parties;
    blamed_ = start.blamed;
    disputed_ = start.blamed == 0;
    own_reference_ = start.own_reference;
    first_ = std::min(start.first, start.bad);
    bad_ = start.bad;
    hashes_.assign(start.slots, {});
    sections_.assign(start.slots, {});
    next_stage(now, Stage::hashes);
}

void DesyncSearch::stop() {
    stage_ = Stage::idle;
    hashes_ = {};
    sections_ = {};
    deadline_ = never;
    ask_at_ = never;
}

void DesyncSearch::next_stage(Micros now, Stage stage) {
    stage_ = stage;
    answered_ = 0;
    deadline_ = now + patience;
    ask_at_ = now;
    last_ = stage == Stage::hashes ? std::min(bad_, first_ + wire::hash_answer_max - 1) : first_;
}

void DesyncSearch::on_answer(std::size_t slot, const wire::HashAnswer& answer) {
    const std::uint64_t bit = std::uint64_t{1} << slot;
    const bool wanted = stage_ == Stage::hashes && (parties_ & ~answered_ & bit) != 0;
    // All that was asked for, or nothing: a part says which states its sender no longer has.
    if (wanted && answer.first == first_ && answer.count == last_ - first_ + 1) {
        hashes_[slot] = answer;
        answered_ |= bit;
    }
}

void DesyncSearch::on_answer(std::size_t slot, const wire::SectionAnswer& answer) {
    const std::uint64_t bit = std::uint64_t{1} << slot;
    const bool wanted = stage_ == Stage::sections && (parties_ & ~answered_ & bit) != 0;
    if (wanted && answer.tick == first_) {
        sections_[slot] = answer;
        answered_ |= bit;
    }
}

void DesyncSearch::forget(std::size_t slot) {
    const std::uint64_t bit = std::uint64_t{1} << slot;
    parties_ &= ~bit;
    answered_ &= ~bit;
}

bool DesyncSearch::judge_tick(std::size_t index, const HashHistory& own) {
    const std::uint64_t tick = first_ + index;
    if (own_reference_) {
        if (!own.has(tick)) {
            return false;
        }
        std::uint64_t wrong = 0;
        for (std::uint64_t rest = answered_; rest != 0; rest &= rest - 1) {
            const int slot = std::countr_zero(rest);
            if (hashes_[static_cast<std::size_t>(slot)].hashes[index] != own.state(tick)) {
                wrong |= std::uint64_t{1} << slot;
            }
        }
        blamed_ = wrong != 0 ? wrong : blamed_;
        return wrong != 0;
    }
    std::vector<Hash128> values(hashes_.size());
    for (std::size_t slot = 0; slot < values.size(); ++slot) {
        values[slot] = hashes_[slot].hashes[index];
    }
    const auto judgement = judge<Hash128>(values, answered_, owing_, true);
    if (judgement.outcome == Outcome::disputed) {
        disputed_ = true;
        blamed_ = 0;
        return true;
    }
    if (judgement.outcome == Outcome::agreed && judgement.dissenters != 0) {
        disputed_ = false;
        blamed_ = judgement.dissenters;
        return true;
    }
    return false;
}

bool DesyncSearch::judge_hashes(Micros now, const HashHistory& own, Finding& finding) {
    const auto count = static_cast<std::size_t>(last_ - first_ + 1);
    for (std::size_t i = 0; answered_ != 0 && i < count; ++i) {
        if (judge_tick(i, own)) {
            first_ += i;
            bad_ = first_;
            next_stage(now, Stage::sections);
            return false;
        }
    }
    if (last_ < bad_ && answered_ != 0) {
        first_ = last_ + 1;
        next_stage(now, Stage::hashes);
        return false;
    }
    // The answers contradict the report, or there are none: the report is all there is.
    first_ = bad_;
    finish(finding);
    return true;
}

void DesyncSearch::judge_sections(const HashHistory& own, Finding& finding) const {
    const auto values = [&](std::size_t slot) {
        return std::span(sections_[slot].sections).first(sections_[slot].count);
    };
    std::span<const std::uint32_t> reference;
    std::uint64_t others = answered_;
    if (own_reference_ && own.has(first_)) {
        reference = own.sections(first_);
    } else {
        const std::uint64_t right = answered_ & ~blamed_;
        if (right == 0) {
            return;
        }
        const int slot = std::countr_zero(right);
        reference = values(static_cast<std::size_t>(slot));
        others &= ~(std::uint64_t{1} << slot);
    }
    std::size_t first = SIZE_MAX;
    for (std::uint64_t rest = others; rest != 0; rest &= rest - 1) {
        const auto mine = values(static_cast<std::size_t>(std::countr_zero(rest)));
        const std::size_t both = std::min(reference.size(), mine.size());
        const auto at = std::mismatch(
            mine.begin(), mine.begin() + static_cast<std::ptrdiff_t>(both), reference.begin());
        const auto index = static_cast<std::size_t>(at.first - mine.begin());
        if (index < both || (both != 0 && reference.size() != mine.size())) {
            first = std::min(first, index);
        }
    }
    if (first != SIZE_MAX) {
        finding.section = own_reference_ ? own.section_name(first) : std::to_string(first);
    }
}

void DesyncSearch::finish(Finding& finding) {
    finding.tick = first_;
    finding.disputed = disputed_;
    finding.blamed = disputed_ ? 0 : blamed_;
    stop();
}

bool DesyncSearch::advance(Micros now, const HashHistory& own, bool& ask, Finding& finding) {
    ask = false;
    finding = {};
    if (active() && (open() == 0 || now >= deadline_)) {
        if (stage_ == Stage::hashes) {
            if (judge_hashes(now, own, finding)) {
                return true;
            }
        } else {
            judge_sections(own, finding);
            finish(finding);
            return true;
        }
    }
    if (active() && now >= ask_at_ && open() != 0) {
        ask = true;
        ask_at_ = now + repeat;
    }
    return false;
}

Micros DesyncSearch::next_wake() const {
    if (!active()) {
        return never;
    }
    return open() == 0 ? Micros{} : std::min(deadline_, ask_at_);
}

std::size_t DesyncSearch::memory_bytes() const {
    return hashes_.capacity() * sizeof(wire::HashAnswer) +
           sections_.capacity() * sizeof(wire::SectionAnswer);
}

} // namespace twinstep::net

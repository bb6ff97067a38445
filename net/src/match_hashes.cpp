// SPDX-License-Identifier: MIT
// Hash reports: who is compared with whom, and what is done about a difference.
#include "match_impl.hpp"

#include <algorithm>
#include <bit>
#include <string>

namespace twinstep::net {

void Match::Impl::on_report(Micros now,
                            std::uint16_t slot,
                            std::uint64_t tick,
                            std::uint32_t hash) {
    Seat& seat = seats[slot];
    if (tick > next()) {
        ++status.out_of_range; // A state that cannot have been reached.
        return;
    }
    if (!seat.in_game || seat.state == PlayerState::absent || tick < seat.verify_from) {
        return; // Joiners and absent players owe no report, so theirs is none.
    }
    if (tick > seat.reported) {
        seat.reported = tick;
        seat.reported_at = next();
        seat.withholding = false;
    }
    if (settings.authority == Authority::simulation) {
        if (history.has(tick)) {
            compare(now, slot, tick, hash);
        } else if (history.empty() || tick > history.last()) {
            seat.reports[static_cast<std::size_t>(tick % seat.reports.size())] = {tick + 1, hash};
        }
        return;
    }
    if (VoteTable::Entry* entry = votes.put(tick, slot, hash)) {
        count_votes(now, *entry, slot);
    }
}

void Match::Impl::compare(Micros now, std::uint16_t slot, std::uint64_t tick, std::uint32_t hash) {
    Seat& seat = seats[slot];
    if (static_cast<std::uint32_t>(history.chain(tick) & 0xFFFFFFFFU) == hash) {
        seat.agreed_to = std::max(seat.agreed_to, tick);
        return;
    }
    if (seat.diverged || search.active() || tick <= seat.agreed_to) {
        return; // Known, or its turn comes with a later report.
    }
    const std::uint64_t bit = std::uint64_t{1} << slot;
    const std::uint64_t first = std::max(seat.agreed_to + 1, history.first());
    search.start(now, {bit, bit, first, tick, seats.size(), true});
    events.on_note(settings.id, "hash_differs", "slot=" + std::to_string(slot));
}

std::uint64_t Match::Impl::owing_reports(std::uint64_t tick) const {
    std::uint64_t mask = 0;
    for (std::size_t slot = 0; slot < seats.size(); ++slot) {
        const Seat& seat = seats[slot];
        const bool playing = seat.state == PlayerState::live || seat.state == PlayerState::lagging;
        if (seat.in_game && playing && tick >= seat.verify_from) {
            mask |= std::uint64_t{1} << slot;
        }
    }
    return mask;
}

void Match::Impl::count_votes(Micros now, VoteTable::Entry& entry, std::uint16_t slot) {
    const std::uint64_t tick = entry.tick_and_one - 1;
    if (entry.agreed && votes.values(entry)[slot] == entry.value) {
        seats[slot].agreed_to = std::max(seats[slot].agreed_to, tick);
        return;
    }
    const std::uint64_t owing = owing_reports(tick);
    const auto judgement = judge<std::uint32_t>(votes.values(entry), entry.reported, owing, false);
    if (judgement.outcome == Outcome::agreed) {
        entry.agreed = true;
        entry.value = judgement.value;
        if (!has_agreed || tick > agreed_tick) {
            has_agreed = true;
            agreed_tick = tick;
            agreed_hash = judgement.value;
        }
        std::uint64_t dissenters = judgement.dissenters;
        for (std::size_t i = 0; i < seats.size(); ++i) {
            const std::uint64_t bit = std::uint64_t{1} << i;
            if ((entry.reported & owing & ~dissenters & bit) != 0) {
                seats[i].agreed_to = std::max(seats[i].agreed_to, tick);
            }
            if (seats[i].diverged) {
                dissenters &= ~bit;
            }
        }
        if (dissenters != 0 && !search.active()) {
            const auto worst = static_cast<std::size_t>(std::countr_zero(dissenters));
            search.start(
                now, {owing, dissenters, seats[worst].agreed_to + 1, tick, seats.size(), false});
            events.on_note(settings.id, "hash_differs", "tick=" + std::to_string(tick));
        }
    } else if (judgement.outcome == Outcome::disputed && !search.active() &&
               (!disputed || owing != disputed_by)) {
        entry.disputed = true;
        std::uint64_t first = tick;
        for (std::size_t i = 0; i < seats.size(); ++i) {
            if ((owing >> i & 1U) != 0) {
                first = std::min(first, seats[i].agreed_to + 1);
            }
        }
        search.start(now, {owing, 0, first, tick, seats.size(), false});
        events.on_note(settings.id, "hash_disputed", "tick=" + std::to_string(tick));
    }
}

void Match::Impl::give_hashes(const StateHashes& hashes) {
    history.add(hashes);
    const std::uint64_t tick = hashes.tick.value;
    if (held && held->tick == tick && !held->has_chain) {
        held->has_chain = true;
        held->chain = history.chain(tick);
    }
    if (settings.authority != Authority::simulation) {
        return;
    }
    if (tick % settings.hash_interval_ticks == 0) {
        has_agreed = true;
        agreed_tick = tick;
        agreed_hash = static_cast<std::uint32_t>(history.chain(tick) & 0xFFFFFFFFU);
    }
    for (std::uint16_t slot = 0; slot < slots; ++slot) {
        auto& report = seats[slot].reports[static_cast<std::size_t>(tick % Seat::reports_max)];
        if (report.tick_and_one == tick + 1) {
            report.tick_and_one = 0;
            if (seats[slot].in_game && tick >= seats[slot].verify_from) {
                compare(now_, slot, tick, report.hash);
            }
        }
    }
}

Result<void> Match::Impl::on_hash_answer(Peer& peer, ByteView body) {
    const auto answer = wire::decode_hash_answer(body);
    if (!answer) {
        return fail(answer.error());
    }
    if (peer.has_slot) {
        search.on_answer(peer.slot.value, *answer);
        on_donor_hash(peer.slot.value, *answer);
    }
    return {};
}

Result<void> Match::Impl::on_section_answer(Peer& peer, ByteView body) {
    const auto answer = wire::decode_section_answer(body);
    if (!answer) {
        return fail(answer.error());
    }
    if (peer.has_slot) {
        search.on_answer(peer.slot.value, *answer);
    }
    return {};
}

void Match::Impl::advance_search(Micros now) {
    if (!search.active()) {
        return;
    }
    for (std::uint64_t rest = search.open(); rest != 0; rest &= rest - 1) {
        const int slot = std::countr_zero(rest);
        if (!seats[static_cast<std::size_t>(slot)].has_peer) {
            search.forget(static_cast<std::size_t>(slot));
        }
    }
    bool ask = false;
    Finding finding;
    if (search.advance(now, history, ask, finding)) {
        conclude(finding);
        return;
    }
    if (!ask) {
        return;
    }
    for (std::uint64_t rest = search.open(); rest != 0; rest &= rest - 1) {
        Peer& peer = peers[seats[static_cast<std::size_t>(std::countr_zero(rest))].peer];
        const wire::HashQuery question = search.question();
        if (search.stage() == DesyncSearch::Stage::hashes) {
            push(peer, [&](Bytes& to) { wire::encode(question, to); });
        } else {
            push(peer, [&](Bytes& to) {
                wire::encode_tick_query(wire::FrameType::section_query, question.first, to);
            });
        }
    }
}

void Match::Impl::conclude(const Finding& finding) {
    wire::Verdict verdict;
    verdict.tick = finding.tick;
    verdict.section = finding.section;
    if (finding.disputed) {
        disputed = true;
        disputed_by = owing_reports(finding.tick);
        verdict.blame = wire::Blame::disputed;
        announce(verdict);
        return;
    }
    verdict.blame = wire::Blame::peer;
    verdict.has_slot = true;
    for (std::uint64_t rest = finding.blamed; rest != 0; rest &= rest - 1) {
        const auto slot = static_cast<std::uint16_t>(std::countr_zero(rest));
        seats[slot].diverged = true;
        verdict.slot = Slot{slot};
        announce(verdict);
    }
}

void Match::Impl::announce(const wire::Verdict& verdict) {
    ++status.desyncs;
    events.on_verdict(settings.id, verdict);
    // A verdict is not acknowledged: it goes out with several packets, and says the same each time.
    Announcement said;
    said.left = 5;
    wire::encode(verdict, said.frame);
    if (announcements.size() == announcements_max) {
        announcements.erase(announcements.begin());
    }
    announcements.push_back(std::move(said));
    for (Peer& peer : peers) {
        peer.next_send = std::min(peer.next_send, now_);
    }
    announce_at = now_;
}

void Match::Impl::repeat_announcements(Micros now) {
    if (now < announce_at) {
        return;
    }
    for (Announcement& said : announcements) {
        --said.left;
        for (Peer& peer : peers) {
            if (peer.has_slot && is_following(peer)) {
                push(peer,
                     [&](Bytes& to) { to.insert(to.end(), said.frame.begin(), said.frame.end()); });
            }
        }
    }
    std::erase_if(announcements, [](const Announcement& said) { return said.left == 0; });
    announce_at = announcements.empty() ? never : now + keep_alive;
}

void Match::Impl::check_silence() {
    const std::uint64_t allowed =
        3 * std::uint64_t{settings.hash_interval_ticks} +
        2 * std::uint64_t{settings.tick_rate.num} / settings.tick_rate.den;
    for (std::uint16_t slot = 0; slot < slots; ++slot) {
        Seat& seat = seats[slot];
        const bool playing = seat.state == PlayerState::live || seat.state == PlayerState::lagging;
        const std::uint64_t since = std::max(seat.reported_at, seat.owes_from);
        if (playing && !seat.withholding && next() > since + allowed) {
            seat.withholding = true;
            ++status.reports_withheld;
            events.on_note(settings.id, "hashes_withheld", "slot=" + std::to_string(slot));
        }
    }
}

} // namespace twinstep::net

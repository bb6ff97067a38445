// SPDX-License-Identifier: MIT
// A relay's snapshots: one player gives it, a strict majority of the players vouches for its hash.
#include "match_impl.hpp"

#include <algorithm>
#include <bit>
#include <string>

namespace twinstep::net {

namespace {

constexpr Micros offer_patience = seconds(10);
constexpr Micros voucher_patience = seconds(5);
constexpr Micros ask_every = milliseconds(500);

} // namespace

std::uint64_t Match::Impl::voters() const {
    std::uint64_t mask = 0;
    for (std::size_t slot = 0; slot < seats.size(); ++slot) {
        const Seat& seat = seats[slot];
        const bool playing = seat.state == PlayerState::live || seat.state == PlayerState::lagging;
        if (seat.in_game && playing && seat.has_peer && is_following(peers[seat.peer])) {
            mask |= std::uint64_t{1} << slot;
        }
    }
    return mask;
}

void Match::Impl::ask_donor(Micros now) {
    // The one whose simulation is furthest; who failed goes behind everybody else.
    int best = -1;
    for (std::uint64_t rest = voters(); rest != 0; rest &= rest - 1) {
        const int slot = std::countr_zero(rest);
        const Seat& seat = seats[static_cast<std::size_t>(slot)];
        const auto rank = [this](const Seat& each) {
            return std::pair{each.diverged ? -1 - each.donations_failed : -each.donations_failed,
                             peers[each.peer].reached};
        };
        if (best < 0 || rank(seat) > rank(seats[static_cast<std::size_t>(best)])) {
            best = slot;
        }
    }
    if (best < 0) {
        return; // Nobody is there who could.
    }
    const std::uint64_t interval = settings.hash_interval_ticks;
    // Far enough ahead for the question to arrive before the donor is there; a check tick, so that
    // the players' reports vouch for the chain too. A match that stands stays where it is.
    const std::uint64_t ahead =
        std::uint64_t{settings.tick_rate.num} / settings.tick_rate.den / 2 + 1;
    donation = {};
    donation.active = true;
    donation.donor = seats[static_cast<std::size_t>(best)].peer;
    donation.wanted = standing ? next() : (next() + ahead + interval - 1) / interval * interval;
    donation.until = now + offer_patience;
    donation.ask_at = now;
    donation.answers.assign(seats.size(), {});
    Peer& donor = peers[donation.donor];
    if (donor.receiver == nullptr) {
        donor.receiver = std::make_unique<BlobReceiver>();
    }
    donor.receiver->expect(
        wire::BlobKind::snapshot, settings.snapshot_bytes_max, settings.join_bytes_per_s);
}

void Match::Impl::on_donor_hash(std::uint16_t slot, const wire::HashAnswer& answer) {
    if (!donation.active || !donation.offered || answer.count != 1 ||
        answer.first != donation.tick) {
        return;
    }
    donation.answered |= std::uint64_t{1} << slot;
    donation.answers[slot] = answer.hashes[0];
}

void Match::Impl::refuse_donation(std::string_view why) {
    ++status.snapshots_refused;
    events.on_note(settings.id, "donation_refused", why);
    Peer& donor = peers[donation.donor];
    if (Seat* seat = seat_of(donor)) {
        ++seat->donations_failed;
    }
    if (donor.receiver != nullptr) {
        donor.receiver->stop();
    }
    donation = {};
}

bool Match::Impl::take_donation(Micros now) {
    const auto judgement =
        judge<Hash128>(donation.answers, donation.answered, donation.owing, now >= donation.until);
    if (judgement.outcome == Outcome::open) {
        return false;
    }
    if (judgement.outcome != Outcome::agreed) {
        refuse_donation("no majority vouches for that state");
        return false;
    }
    if (judgement.value != donation.state) {
        refuse_donation("its hash is not the agreed one");
        return false;
    }
    const VoteTable::Entry* entry = votes.find(donation.tick);
    if (entry != nullptr && entry->agreed &&
        entry->value != static_cast<std::uint32_t>(donation.chain & 0xFFFFFFFFU)) {
        refuse_donation("its chain is not the agreed one");
        return false;
    }
    if (!ring.covers(donation.tick)) {
        refuse_donation("it came too late");
        return false;
    }
    held = HeldSnapshot{donation.tick, true, donation.chain, donation.bytes};
    if (peers[donation.donor].receiver != nullptr) {
        peers[donation.donor].receiver->stop();
    }
    donation = {};
    return true;
}

void Match::Impl::advance_donation(Micros now) {
    if (!donation.active) {
        return;
    }
    Peer& donor = peers[donation.donor];
    if (!is_following(donor) || donor.receiver == nullptr) {
        refuse_donation("the donor is gone");
        return;
    }
    if (auto transfer = donor.receiver->advance(now); !transfer) {
        refuse_donation("the transfer took too long");
        return;
    }
    if (!donation.offered && donor.receiver->active()) {
        // Who vouches is asked at once: players keep the hashes of 512 states only.
        donation.offered = true;
        donation.tick = donor.receiver->offer().tick;
        donation.chain = donor.receiver->offer().chain;
        donation.until = never;
        donation.ask_at = now;
        if (donation.tick < donation.wanted || donation.tick > next()) {
            refuse_donation("another state than asked for");
            return;
        }
    }
    if (donation.has_state) {
        if (donation.until == never) {
            donation.until = now + voucher_patience;
            donation.owing = voters();
        }
        if (take_donation(now) || !donation.active) {
            return;
        }
    }
    if (!donation.offered && now >= donation.until) {
        refuse_donation("no offer came");
        return;
    }
    if (now < donation.ask_at) {
        return;
    }
    donation.ask_at = now + ask_every;
    if (!donation.offered) {
        push(donor, [this](Bytes& to) {
            wire::encode_tick_query(wire::FrameType::snapshot_query, donation.wanted, to);
        });
        return;
    }
    for (std::uint64_t rest = voters() & ~donation.answered; rest != 0; rest &= rest - 1) {
        Peer& voter = peers[seats[static_cast<std::size_t>(std::countr_zero(rest))].peer];
        push(voter, [this](Bytes& to) {
            wire::encode(wire::HashQuery{donation.tick, donation.tick}, to);
        });
    }
}

} // namespace twinstep::net

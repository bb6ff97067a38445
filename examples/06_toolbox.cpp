// SPDX-License-Identifier: MIT
// A state made of the toolbox: fixed point, handles, queues, maps and dice, saved, loaded and run
// on to the same hash.
#include <twinstep/sim.hpp>

#include <cstdint>
#include <cstdio>
#include <tuple>
#include <vector>

namespace {

using twinstep::Draws;
using twinstep::DrawStream;
using twinstep::Q16x16;

struct NoInput {
    std::uint8_t unused = 0;

    template <class Archive>
    void serialize(Archive& archive) {
        archive(CEREAL_NVP(unused));
    }
};

enum class Ware : std::uint8_t { wood, iron, bread };

struct Cart {
    Q16x16 place;
    Q16x16 speed;
    twinstep::Ring<Ware, 4> loaded; // the last four wares
    twinstep::DrawCount draws;

    template <class Archive>
    void serialize(Archive& archive) {
        archive(CEREAL_NVP(place), CEREAL_NVP(speed), CEREAL_NVP(loaded), CEREAL_NVP(draws));
    }
};

using CartHandle = twinstep::SlotHandle<Cart>;

struct Arrival {
    std::uint64_t tick = 0;
    CartHandle cart;

    template <class Archive>
    void serialize(Archive& archive) {
        archive(CEREAL_NVP(tick), CEREAL_NVP(cart));
    }
};

/// Two carts that arrive at one tick are told apart by their handles.
struct Sooner {
    bool operator()(const Arrival& a, const Arrival& b) const {
        return std::tie(a.tick, a.cart) < std::tie(b.tick, b.cart);
    }
};

class Market {
public:
    using Input = NoInput;
    static constexpr std::string_view id = "market";
    static constexpr twinstep::TickRate tick_rate{20};

    void reset(const twinstep::Setup&) {}

    void step(const twinstep::Step<Input>& step) {
        // A stream of draws for each purpose: one draw too many here shifts no other.
        const DrawStream journeys(step.random, 1);
        if (step.tick.value % 3 == 0) {
            const CartHandle handle = carts_.insert({});
            Draws draws(journeys, handle.key(), carts_.at(handle).draws);
            const auto share = twinstep::unit<Q16x16>(draws);
            const std::uint32_t ticks = 5 + draws.below(40);
            carts_.at(handle).speed = Q16x16::ratio(1, 4) + share;
            arrivals_.push({step.tick.value + ticks, handle});
        }
        for (auto [handle, cart] : carts_) {
            cart.place += cart.speed;
            Draws draws(journeys, handle.key(), cart.draws);
            if (twinstep::chance(draws, 1, 8)) {
                cart.loaded.push_over(static_cast<Ware>(draws.below(3)));
            }
        }
        while (!arrivals_.empty() && arrivals_.top().tick <= step.tick.value) {
            const Arrival arrival = arrivals_.pop();
            for (const Ware ware : carts_.at(arrival.cart).loaded) {
                stocks_[ware] += 1;
            }
            carts_.erase(arrival.cart); // its handle finds nothing from now on
        }
    }

    template <class Archive>
    void serialize(Archive& archive) {
        archive(twinstep::section("carts", CEREAL_NVP(carts_)),
                twinstep::section("market", CEREAL_NVP(arrivals_), CEREAL_NVP(stocks_)));
    }

    /// Who is ahead, for whoever draws: a copy, in an order that is total.
    std::vector<CartHandle> ranking() const {
        std::vector<std::pair<Q16x16, CartHandle>> places;
        for (auto [handle, cart] : carts_) {
            places.emplace_back(-cart.place, handle);
        }
        twinstep::total_sort(places);
        std::vector<CartHandle> order;
        order.reserve(places.size());
        for (const auto& [place, handle] : places) {
            order.push_back(handle);
        }
        return order;
    }

private:
    twinstep::SlotMap<Cart, 256> carts_;
    twinstep::Heap<Arrival, Sooner> arrivals_;
    twinstep::FlatMap<Ware, std::uint32_t> stocks_;
};

bool run(twinstep::Simulation& simulation, std::uint64_t ticks) {
    twinstep::TickFrame frame;
    for (std::uint64_t i = 0; i < ticks; ++i) {
        frame.reset(simulation.tick(), 1);
        if (!simulation.prepare(frame)) {
            return false;
        }
        simulation.step();
    }
    return true;
}

} // namespace

int main() {
    twinstep::GameSimulation<Market> first;
    twinstep::GameSimulation<Market> second;
    const twinstep::Setup setup{7, 1, {}};
    if (!first.reset(setup) || !second.reset(setup) || !run(first, 300)) {
        return 1;
    }
    twinstep::Bytes snapshot;
    first.save(snapshot);
    if (!second.load(snapshot) || !run(first, 300) || !run(second, 300)) {
        return 1;
    }
    const bool equal = first.hash().state == second.hash().state;
    std::printf("tick %d, %zu carts on the road, hash %s, %s\n",
                static_cast<int>(first.tick().value),
                first.game().ranking().size(),
                to_hex(first.hash().state).c_str(),
                equal ? "also from the snapshot" : "but another from the snapshot");
    return equal ? 0 : 1;
}

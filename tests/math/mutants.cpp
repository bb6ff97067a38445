// SPDX-License-Identifier: MIT
// Changes each coefficient and table entry of sim/math in turn, by so much that results move by
// about 2^-26 of their value, and requires that a thin sweep notices.
// Built against headers whose tables can be changed: see make_mutable.py.
#include "functions.hpp"

#include "twinstep/sim/math.hpp"

#include <bit>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <utility>

namespace math_sweep {

namespace {

namespace tables = twinstep::math::detail;

/// A thin sweep of a function: its name, and that one case in so many is taken.
using Sweep = std::pair<std::string_view, std::uint64_t>;

/// Cases, and what comes out for them as long as nothing is changed.
using Samples = std::map<Sweep, std::vector<Block>>;

struct Mutation {
    std::string name;
    std::function<void(int)> change; ///< 1 makes the change, -1 takes it back
    std::vector<Sweep> noticed_by;   ///< one of them has to
};

std::vector<Block> sample(const Sweep& sweep) {
    std::vector<Block> blocks(block_count);
    const Function& function = *find_function(sweep.first);
    for (std::uint32_t i = 0; i < block_count; ++i) {
        make_cases(function, i, sweep.second, blocks[i]);
        function.compute(blocks[i]);
    }
    return blocks;
}

bool is_same(const Block& a, const Block& b) {
    for (std::size_t i = 0; i < a.result.size(); ++i) {
        if (std::bit_cast<std::uint32_t>(a.result[i]) !=
            std::bit_cast<std::uint32_t>(b.result[i])) {
            return false;
        }
    }
    return true;
}

bool notices(const Sweep& sweep, const std::vector<Block>& right) {
    const Function& function = *find_function(sweep.first);
    Block again;
    for (const Block& block : right) {
        again = block;
        function.compute(again);
        if (!is_same(block, again)) {
            return true;
        }
    }
    return false;
}

class Mutants {
public:
    template <class Number>
    void one(std::string name, Number& number, Number by, std::vector<Sweep> noticed_by) {
        const Number right = number;
        auto change = [&number, right, by](int direction) {
            number = direction > 0 ? number + by : right;
        };
        list_.push_back({std::move(name), std::move(change), std::move(noticed_by)});
    }

    template <class Table, class Number>
    void
    each(const std::string& name, Table& table, Number by, const std::vector<Sweep>& noticed_by) {
        for (std::size_t i = 0; i < std::size(table); ++i) {
            one(name + "[" + std::to_string(i) + "]", table[i], by, noticed_by);
        }
    }

    /// A polynomial: the change to coefficient i is by / reach^i.
    template <class Table>
    void polynomial(const std::string& name,
                    Table& table,
                    double by,
                    double reach,
                    const std::vector<Sweep>& noticed_by) {
        for (std::size_t i = 0; i < std::size(table); ++i) {
            one(name + "[" + std::to_string(i) + "]", table[i], by, noticed_by);
            by /= reach;
        }
    }

    int run(std::size_t step) const {
        Samples samples;
        for (const Mutation& mutation : list_) {
            for (const Sweep& sweep : mutation.noticed_by) {
                std::vector<Block>& right = samples[sweep];
                right = right.empty() ? sample(sweep) : std::move(right);
            }
        }
        unsigned tried = 0;
        unsigned missed = 0;
        for (std::size_t i = 0; i < list_.size(); i += step) {
            const Mutation& mutation = list_[i];
            mutation.change(1);
            bool noticed = false;
            for (const Sweep& sweep : mutation.noticed_by) {
                noticed = noticed || notices(sweep, samples[sweep]);
            }
            mutation.change(-1);
            ++tried;
            if (!noticed) {
                ++missed;
                std::printf("%s was changed and nothing noticed\n", mutation.name.c_str());
            }
        }
        std::printf("%u mutants, %u not noticed\n", tried, missed);
        return tried == 0 ? 6 : missed == 0 ? 0 : 1;
    }

private:
    std::vector<Mutation> list_;
};

constexpr double least = 0x1p-26; ///< Results move by this much of themselves, or little more.
constexpr std::uint64_t thin = 10007;
constexpr std::uint64_t dense = 503; ///< For what few arguments depend on.

void add_exponentials(Mutants& mutants) {
    // Of the images of numbers 2^27 units of the last place are 2^-26 to 2^-25.
    constexpr std::uint64_t image_step = std::uint64_t{1} << 27;
    mutants.each("exp_short_table", tables::exp_short_table, image_step, {{"exp", thin}});
    mutants.each("exp_table", tables::exp_table, image_step, {{"expm1", thin}, {"sinh", thin}});
    mutants.polynomial("exp_short", tables::exp_short, least * 0x1.2p+25, 0.5, {{"exp", thin}});
    mutants.polynomial("exp_long", tables::exp_long, 2 * least, 0.5, {{"expm1", thin}});
    mutants.one("exp_steps", tables::exp_steps, least * 128, {{"exp", thin}});
    mutants.one("exp10_steps", tables::exp10_steps, least * 128, {{"exp10", thin}});
    // The exact ways, which nearly all subnormal results take.
    mutants.one("exp_step", tables::exp_step, least, {{"exp", dense}});
    mutants.one("1 / 2!", tables::inverse_factorial[2], 0x1p-9, {{"exp", dense}});
    mutants.one("1 / 3!", tables::inverse_factorial[3], 0x1p-0, {{"exp", dense}});
}

void add_logarithms(Mutants& mutants) {
    for (std::size_t i = 0; i < std::size(tables::log_table); ++i) {
        const std::string name = "log_table[" + std::to_string(i) + "]";
        mutants.one(name + ".inverse", tables::log_table[i].inverse, least, {{"log", thin}});
        mutants.one(name + ".log", tables::log_table[i].log, least, {{"log", thin}});
    }
    mutants.one("ln2", tables::ln2, least, {{"log", thin}});
    mutants.one("inverse_ln2", tables::inverse_ln2, 2 * least, {{"log2", thin}});
    mutants.one("inverse_ln10", tables::inverse_ln10, least, {{"log10", thin}});
    // Next to 1 the result is r + r^2 * polynomial, so a change counts for r times as much.
    mutants.polynomial("log_short", tables::log_short, least * 0x1p+8, 0x1p-8, {{"log", dense}});
    mutants.polynomial("log_long", tables::log_long, least * 0x1p+8, 0x1p-8, {{"log1p", dense}});
}

void add_trigonometry(Mutants& mutants) {
    mutants.each("sincos_table", tables::sincos_table, least, {{"sin", thin}, {"cos", thin}});
    mutants.polynomial("sin_poly", tables::sin_poly, least * 0x1p-4, 0.25, {{"sin", thin}});
    mutants.polynomial("cos_poly", tables::cos_poly, 4 * least, 0.25, {{"cos", thin}});
    mutants.one("trig_steps", tables::trig_steps, 32 * least, {{"sin", thin}});
    mutants.one("trig_steps_rest", tables::trig_steps_rest, 32 * least, {{"sin", thin}});
    // The first words are for |x| < 4096, which is reduced otherwise; the last only ever stand for
    // what is below 2^-26 of a result.
    for (std::size_t i = 2; i < 22; ++i) {
        const std::string name = "turns_by_byte[" + std::to_string(i) + "]";
        mutants.one(name, tables::turns_by_byte[i], std::uint32_t{1}, {{"sin", thin}});
    }
    mutants.each("atan_table", tables::atan_table, least, {{"atan", thin}});
    mutants.polynomial("atan_poly", tables::atan_poly, least * 0x1p+14, 0x1p-14, {{"atan", dense}});
    mutants.one("half_pi", tables::half_pi, 2 * least, {{"atan", thin}});
}

} // namespace

} // namespace math_sweep

/// With a number N: only one mutant in N.
int main(int argc, char** argv) {
    const int step = argc > 1 ? std::atoi(argv[1]) : 1;
    if (step < 1) {
        std::fprintf(stderr, "usage: math_mutants [N]\n");
        return 2;
    }
    math_sweep::Mutants mutants;
    math_sweep::add_exponentials(mutants);
    math_sweep::add_logarithms(mutants);
    math_sweep::add_trigonometry(mutants);
    return mutants.run(static_cast<std::size_t>(step));
}

// SPDX-License-Identifier: MIT
// Proves sim/math: every float for functions of one number, 2^30 cases for those of two.
#include "functions.hpp"

#if TWINSTEP_HAVE_MPFR
#include "oracle.hpp"
#endif

#include <algorithm>
#include <atomic>
#include <bit>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace math_sweep {

namespace {

constexpr const char* usage =
    "usage: math_sweep [FUNCTION...] [OPTIONS]      default: all functions\n\n"
    "  Computes every block of cases, compares each result with the oracle and the digest of each\n"
    "  block with the committed table.\n"
    "  --stride N       only one case in N, spread over all of them; compares no digests\n"
    "  --digests N      only one block in N, with the table alone; needs no oracle\n"
    "  --write          write the table instead of comparing with it, if all results are right\n"
    "  --table DIR      folder of the table\n"
    "  --jobs N         threads, default 1\n"
    "  --quiet          no progress bar\n\n"
    "exit codes: 0 all right, 1 a wrong result or digest, 2 usage, 6 nothing was checked\n";

struct Options {
    std::vector<const Function*> functions;
    std::uint64_t stride = 1;
    std::uint32_t digest_step = 0;
    bool write = false;
    bool quiet = false;
    unsigned jobs = 1;
    std::string table = TWINSTEP_DIGEST_DIR;
};

/// What the threads of one sweep of one function add up.
struct Totals {
    std::atomic<std::uint32_t> next_block{0};
    std::atomic<std::uint64_t> cases{0};
    std::atomic<std::uint64_t> unsettled{0};
    std::atomic<std::uint64_t> wrong{0};
    std::mutex mutex;
    double library_error = 0;
    std::vector<std::uint32_t> digests = std::vector<std::uint32_t>(block_count);
};

#if TWINSTEP_HAVE_MPFR

void report_wrong(const Function& function, float x, float y, float got, float expected) {
    const auto bits = [](float value) { return std::bit_cast<std::uint32_t>(value); };
    if (function.has_two_arguments()) {
        std::fprintf(stderr,
                     "\n%s(%08x %a, %08x %a) is %08x %a, not %08x %a\n",
                     function.name.data(),
                     bits(x),
                     static_cast<double>(x),
                     bits(y),
                     static_cast<double>(y),
                     bits(got),
                     static_cast<double>(got),
                     bits(expected),
                     static_cast<double>(expected));
    } else {
        std::fprintf(stderr,
                     "\n%s(%08x %a) is %08x %a, not %08x %a\n",
                     function.name.data(),
                     bits(x),
                     static_cast<double>(x),
                     bits(got),
                     static_cast<double>(got),
                     bits(expected),
                     static_cast<double>(expected));
    }
}

/// Compares the results of blocks with what the oracle gives.
class Checker {
public:
    Checker(const Function& function, const Options& options, Totals& totals)
        : function_(function)
        , totals_(totals)
        , mpfr_(function.name)
        , approximation_(approximation_of(function.name))
        , direct_step_(options.stride == 1 ? 65521 : 127) {}

    /// Cases are at their cheapest first: known from the other sign, known from the block's ends.
    void check(const Block& block, std::uint32_t number) {
        if (!block.x.empty() && !is_mirrored(block, number) && !is_level(block)) {
            for (std::size_t i = 0; i < block.x.size(); ++i) {
                const float y = block.y.empty() ? 0.0F : block.y[i];
                check_case(block.x[i], y, block.result[i]);
            }
        }
        totals_.cases += block.x.size();
        totals_.unsettled += unsettled_;
        unsettled_ = 0;
        const std::lock_guard lock(totals_.mutex);
        totals_.library_error = std::max(totals_.library_error, library_error_);
    }

private:
    /// For odd and even functions the upper half of the blocks, negative numbers, has to be the
    /// lower half again.
    bool is_mirrored(const Block& block, std::uint32_t number) {
        if (number < block_count / 2 || !(function_.is_odd() || function_.is_even())) {
            return false;
        }
        mirror_.x = block.x;
        for (float& x : mirror_.x) {
            x = -x;
        }
        mirror_.result.resize(block.x.size());
        function_.compute(mirror_);
        for (std::size_t i = 0; i < block.x.size(); ++i) {
            const float same = mirror_.result[i];
            const bool turned = function_.is_odd() && same == same;
            compare(block.x[i], 0.0F, block.result[i], turned ? -same : same);
        }
        return true;
    }

    /// A function that is monotone on a block is level there if it is the same at both ends.
    bool is_level(const Block& block) {
        if (!function_.is_monotone()) {
            return false;
        }
        const float first = mpfr_.rounded(block.x.front(), 0.0F);
        const float last = mpfr_.rounded(block.x.back(), 0.0F);
        if (image(first) != image(last)) {
            return false;
        }
        for (std::size_t i = 0; i < block.x.size(); ++i) {
            compare(block.x[i], 0.0F, block.result[i], first);
        }
        return true;
    }

    static std::uint32_t image(float x) { return std::bit_cast<std::uint32_t>(x); }

    void compare(float x, float y, float got, float expected) {
        if (image(expected) != image(got) && totals_.wrong++ < 10) {
            const std::lock_guard lock(totals_.mutex);
            report_wrong(function_, x, y, got, expected);
        }
    }

    void check_case(float x, float y, float got) {
        float expected = 0;
        const double approximation = approximation_(static_cast<double>(x), static_cast<double>(y));
        const bool settled = is_settled(approximation, expected);
        if (!settled || ++since_direct_ >= direct_step_) {
            unsettled_ += settled ? 0 : 1;
            since_direct_ = settled ? 0 : since_direct_;
            expected = mpfr_.rounded(x, y);
            library_error_ = std::max(library_error_, mpfr_.error_of(approximation, x, y));
        }
        compare(x, y, got, expected);
    }

    const Function& function_;
    Totals& totals_;
    Mpfr mpfr_;
    Block mirror_;
    Approximation approximation_;
    std::uint32_t direct_step_; ///< One case in so many is MPFR's whatever the C library says.
    std::uint32_t since_direct_ = 0;
    std::uint64_t unsettled_ = 0;
    double library_error_ = 0;
};

#else

constexpr double trusted_error = 1024;

class Checker {
public:
    Checker(const Function&, const Options&, Totals&) {}

    void check(const Block&, std::uint32_t) {}
};

#endif

class Progress {
public:
    Progress(const Function& function, const Options& options)
        : name_(function.name)
        , quiet_(options.quiet) {}

    void show(std::uint32_t done) {
        if (quiet_ || done % 16 != 0) {
            return;
        }
        const double seconds =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
        const double left = done == 0 ? 0 : seconds * (block_count - done) / done;
        const std::string bar(done * 40 / block_count, '#');
        std::fprintf(stderr,
                     "\r%-6s [%-40s] %3u %%, %.0f s left  ",
                     std::string(name_).c_str(),
                     bar.c_str(),
                     done * 100 / block_count,
                     left);
    }

    ~Progress() {
        if (!quiet_) {
            std::fprintf(stderr, "\r%70s\r", "");
        }
    }

private:
    std::string_view name_;
    bool quiet_;
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

void work(const Function& function, const Options& options, Totals& totals, Progress* progress) {
    Checker checker(function, options, totals);
    Block block;
    for (std::uint32_t number = totals.next_block++; number < block_count;
         number = totals.next_block++) {
        make_cases(function, number, options.stride, block);
        function.compute(block);
        checker.check(block, number);
        totals.digests[number] = digest_of(block);
        if (progress != nullptr) {
            progress->show(number);
        }
    }
}

std::string table_path(const Options& options, const Function& function) {
    return options.table + "/" + std::string(function.name) + ".bin";
}

/// A table is 4,096 little-endian numbers of 32 bits, one a block.
std::optional<std::vector<std::uint32_t>> read_table(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    if (bytes.size() != std::size_t{block_count} * 4) {
        std::fprintf(stderr, "%s: not a table of %u digests\n", path.c_str(), block_count);
        return std::nullopt;
    }
    std::vector<std::uint32_t> table(block_count);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        table[i / 4] |= std::uint32_t{static_cast<unsigned char>(bytes[i])} << (8 * (i % 4));
    }
    return table;
}

bool write_table(const std::string& path, const std::vector<std::uint32_t>& table) {
    std::ofstream file(path, std::ios::binary);
    for (const std::uint32_t digest : table) {
        for (int shift = 0; shift < 32; shift += 8) {
            file.put(static_cast<char>(digest >> shift));
        }
    }
    return static_cast<bool>(file.flush());
}

/// How many of the blocks that were computed have another digest than the table.
std::uint32_t compare_digests(const Options& options,
                              const Function& function,
                              const std::vector<std::uint32_t>& digests,
                              std::uint32_t step) {
    const auto table = read_table(table_path(options, function));
    if (!table) {
        return 1;
    }
    std::uint32_t wrong = 0;
    for (std::uint32_t block = 0; block < block_count; block += step) {
        if (digests[block] != (*table)[block] && wrong++ < 10) {
            std::fprintf(stderr,
                         "%s: block %u has digest %08x, not %08x\n",
                         function.name.data(),
                         block,
                         digests[block],
                         (*table)[block]);
        }
    }
    return wrong;
}

/// Calls `task` on so many threads, the caller's among them.
template <class Task>
void on_threads(unsigned jobs, const Task& task) {
    std::vector<std::jthread> threads;
    for (unsigned i = 1; i < jobs; ++i) {
        threads.emplace_back([&task, i] { task(i); });
    }
    task(0U);
}

bool sweep_digests(const Function& function, const Options& options) {
    std::vector<std::uint32_t> digests(block_count);
    std::atomic<std::uint64_t> next{0};
    std::atomic<unsigned> computed{0};
    on_threads(options.jobs, [&](unsigned) {
        Block block;
        for (std::uint64_t at = next.fetch_add(options.digest_step); at < block_count;
             at = next.fetch_add(options.digest_step)) {
            const auto number = static_cast<std::uint32_t>(at);
            make_cases(function, number, 1, block);
            function.compute(block);
            digests[number] = digest_of(block);
            ++computed;
        }
    });
    const unsigned wrong = compare_digests(options, function, digests, options.digest_step);
    std::printf("%-6s %4u digests, %u wrong\n", function.name.data(), computed.load(), wrong);
    std::fflush(stdout);
    return wrong == 0;
}

bool sweep(const Function& function, const Options& options) {
    Totals totals;
    const auto start = std::chrono::steady_clock::now();
    {
        Progress progress(function, options);
        on_threads(options.jobs, [&](unsigned thread) {
            work(function, options, totals, thread == 0 ? &progress : nullptr);
        });
    }
    bool right = totals.wrong == 0;
    if (totals.library_error * 16 > trusted_error) {
        std::fprintf(stderr,
                     "%s: the C library is off by %.0f units of 2^-52, more than is trusted\n",
                     function.name.data(),
                     totals.library_error);
        right = false;
    }
    std::uint32_t wrong_digests = 0;
    if (right && options.write) {
        right = write_table(table_path(options, function), totals.digests);
    } else if (right && options.stride == 1) {
        wrong_digests = compare_digests(options, function, totals.digests, 1);
        right = wrong_digests == 0;
    }
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    std::printf("%-6s %10llu cases, %llu wrong, %u digests wrong; %llu decided by MPFR; the C "
                "library is off by at most %.2f x 2^-52; %.0f s\n",
                std::string(function.name).c_str(),
                static_cast<unsigned long long>(totals.cases),
                static_cast<unsigned long long>(totals.wrong),
                wrong_digests,
                static_cast<unsigned long long>(totals.unsettled),
                totals.library_error,
                seconds);
    std::fflush(stdout);
    return right && totals.cases != 0;
}

template <class Number>
bool parse_number(const char* text, Number& into) {
    const char* end = text + std::strlen(text);
    const auto [stop, error] = std::from_chars(text, end, into);
    return error == std::errc{} && stop == end && into != 0;
}

bool parse_option(std::string_view word, const char* value, Options& options, bool& used) {
    used = value != nullptr;
    if (word == "--stride" && used) {
        return parse_number(value, options.stride);
    }
    if (word == "--digests" && used) {
        return parse_number(value, options.digest_step);
    }
    if (word == "--jobs" && used) {
        return parse_number(value, options.jobs) && options.jobs <= 64;
    }
    if (word == "--table" && used) {
        options.table = value;
        return true;
    }
    used = false;
    options.write = options.write || word == "--write";
    options.quiet = options.quiet || word == "--quiet";
    return word == "--write" || word == "--quiet";
}

std::optional<Options> parse(int argc, char** argv) {
    Options options;
    for (int i = 1; i < argc; ++i) {
        if (const Function* function = find_function(argv[i])) {
            options.functions.push_back(function);
            continue;
        }
        bool used = false;
        if (!parse_option(argv[i], i + 1 < argc ? argv[i + 1] : nullptr, options, used)) {
            return std::nullopt;
        }
        i += used ? 1 : 0;
    }
    if (options.functions.empty()) {
        for (const Function& function : all_functions()) {
            options.functions.push_back(&function);
        }
    }
    const bool writes_part = options.write && (options.stride != 1 || options.digest_step != 0);
    return writes_part ? std::nullopt : std::optional(options);
}

int run(const Options& options) {
    if (TWINSTEP_HAVE_MPFR == 0 && options.digest_step == 0) {
        std::fprintf(stderr, "math_sweep: built without MPFR, so only --digests is possible\n");
        return 6;
    }
    bool right = true;
    for (const Function* function : options.functions) {
        right = (options.digest_step != 0 ? sweep_digests(*function, options)
                                          : sweep(*function, options)) &&
                right;
    }
    return right ? 0 : 1;
}

} // namespace

} // namespace math_sweep

int main(int argc, char** argv) {
    const auto options = math_sweep::parse(argc, argv);
    if (!options) {
        std::fputs(math_sweep::usage, stderr);
        return 2;
    }
    return math_sweep::run(*options);
}

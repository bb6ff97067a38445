// SPDX-License-Identifier: MIT
// The validators of options, and a default that several have.
#include "options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <thread>

namespace twinstep::tools {

CLI::Validator whole_number(std::uint64_t low, std::uint64_t high) {
    const auto check = [low, high](std::string& text) -> std::string {
        std::uint64_t value = 0;
        const char* end = text.data() + text.size();
        const auto parsed = std::from_chars(text.data(), end, value);
        if (parsed.ec != std::errc{} || parsed.ptr != end || value < low || value > high) {
            return fmt::format("\"{}\": use a whole number of {} to {}", text, low, high);
        }
        text = std::to_string(value);
        return {};
    };
    return CLI::Validator(check, "");
}

std::uint32_t default_workers() {
    constexpr std::uint32_t workers_max = 4;
    return std::clamp(std::thread::hardware_concurrency(), 1U, workers_max);
}

CLI::Validator number(double low, double high) {
    const auto check = [low, high](std::string& text) -> std::string {
        double value = 0.0;
        const char* end = text.data() + text.size();
        const auto parsed = std::from_chars(text.data(), end, value);
        const bool inside = value >= low && value <= high;
        if (parsed.ec != std::errc{} || parsed.ptr != end || !inside) {
            return fmt::format("\"{}\": use a number of {} to {}", text, low, high);
        }
        return {};
    };
    return CLI::Validator(check, "");
}

CLI::Validator not_empty() {
    const auto check = [](std::string& text) -> std::string {
        return text.empty() ? "the name is empty" : "";
    };
    return CLI::Validator(check, "");
}

} // namespace twinstep::tools

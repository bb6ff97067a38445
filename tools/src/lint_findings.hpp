// SPDX-License-Identifier: MIT
// What was found, and what of it is allowed.
#pragma once

#include "lint_image.hpp"
#include "lint_rules.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace twinstep::tools::lint {

/// Finding::section of an import whose address is in data only.
inline constexpr std::string_view in_data = "(data)";

/// One function and one thing that it must not have, however often.
struct Finding {
    std::string function; ///< Readable; empty where no symbol says.
    std::string symbol;   ///< Readable name of an import with its version, or the instruction.
    Hazard hazard = Hazard::math;
    std::string section;
    std::uint64_t offset = 0; ///< Of the first place: in the section, or the address if linked.
    std::uint64_t places = 1;
    std::string instead;
};

/// What is not to be reported: a symbol, an instruction or a kind of hazard; with @FUNCTION only
/// there.
class AllowList {
public:
    explicit AllowList(const std::vector<std::string>& names);

    /// Whether one of the names fits; marks it as used. `base` is the rule's name for the symbol.
    bool allows(const Finding& finding, std::string_view base);

    /// Names that fitted nothing.
    std::vector<std::string> unused() const;

private:
    struct Name {
        std::string text;
        bool used = false;
    };

    std::vector<Name> names_;
};

/// Findings of one image, in the order in which they were found.
class FindingList {
public:
    /// Most findings that are kept; the others are counted.
    static constexpr std::size_t findings_max = 10'000;

    explicit FindingList(AllowList& allowed)
        : allowed_(allowed) {}

    /// Adds a finding, or a place to the one that is there; `base` as for AllowList.
    void add(Finding finding, std::string_view base);

    const std::vector<Finding>& findings() const { return findings_; }

    std::uint64_t allowed() const { return allowed_count_; }

    std::uint64_t dropped() const { return dropped_; }

private:
    AllowList& allowed_;
    std::vector<Finding> findings_;
    std::map<std::tuple<std::string, std::string, std::string>, std::size_t> place_of_;
    std::uint64_t allowed_count_ = 0;
    std::uint64_t dropped_ = 0;
};

/// Which function a place in code belongs to.
class FunctionIndex {
public:
    explicit FunctionIndex(const CodeImage& image);

    /// The symbol that contains an address, or null.
    const CodeSymbol* find(std::uint32_t section, std::uint64_t address) const;

    /// The first function that begins behind an address, as an address; the end of the section if
    /// there is none.
    std::uint64_t next_start(std::uint32_t section, std::uint64_t address) const;

    std::size_t size() const { return functions_.size(); }

    /// The readable name of a symbol that find() returned.
    const std::string& shown(const CodeSymbol& function) const;

private:
    std::vector<CodeSymbol>::const_iterator behind(std::uint32_t section,
                                                   std::uint64_t address) const;

    const CodeImage& image_;
    std::vector<CodeSymbol> functions_;                      ///< By section and address.
    mutable std::map<const CodeSymbol*, std::string> shown_; ///< Those that were asked for.
};

/// A finding at a place in code, without symbol and advice.
Finding finding_at(const CodeImage& image,
                   const FunctionIndex& functions,
                   std::uint32_t section,
                   std::uint64_t address);

/// A call of an import in linked code, or what may be one.
struct LinkedCall {
    std::uint32_t import = 0;
    std::uint32_t section = 0;
    std::uint64_t address = 0;
};

/// Imports that a step must not use, with the functions that call them, and templates that must not
/// be compiled into it.
void find_imports(const CodeImage& image, const FunctionIndex& functions, FindingList& list);

/// What became of the instructions.
struct Decoding {
    bool decoded = false;            ///< False: no decoder for this machine here; `why` says more.
    std::uint64_t skipped_bytes = 0; ///< In code, and no instruction.
    std::string why;
};

/// Instructions that a step must not have.
Decoding find_opcodes(const CodeImage& image, const FunctionIndex& functions, FindingList& list);

/// Calls in linked code through the slots of imports. Empty for machines that are not decoded.
std::vector<LinkedCall> linked_calls(const CodeImage& image);

} // namespace twinstep::tools::lint

// SPDX-License-Identifier: MIT
// Findings are kept once for each function and symbol.
#include "lint_findings.hpp"

#include "lint_names.hpp"

#include <algorithm>

namespace twinstep::tools::lint {

AllowList::AllowList(const std::vector<std::string>& names) {
    for (const std::string& name : names) {
        names_.push_back({name, false});
    }
}

bool AllowList::allows(const Finding& finding, std::string_view base) {
    const auto fits = [&](std::string_view text) {
        return text == finding.symbol || text == base || text == name_of(finding.hazard);
    };
    bool allowed = false;
    for (Name& name : names_) {
        // The version of a symbol may be what stands behind the sign, so the whole comes first.
        const std::size_t at = name.text.find('@');
        const bool here =
            fits(name.text) ||
            (at != std::string::npos && fits(std::string_view(name.text).substr(0, at)) &&
             std::string_view(name.text).substr(at + 1) == finding.function);
        name.used = name.used || here;
        allowed = allowed || here;
    }
    return allowed;
}

std::vector<std::string> AllowList::unused() const {
    std::vector<std::string> unused;
    for (const Name& name : names_) {
        if (!name.used) {
            unused.push_back(name.text);
        }
    }
    return unused;
}

void FindingList::add(Finding finding, std::string_view base) {
    if (allowed_.allows(finding, base)) {
        ++allowed_count_;
        return;
    }
    const auto key = std::tuple(finding.function, finding.symbol, finding.section);
    if (const auto found = place_of_.find(key); found != place_of_.end()) {
        ++findings_[found->second].places;
        return;
    }
    if (findings_.size() == findings_max) {
        ++dropped_;
        return;
    }
    place_of_.emplace(key, findings_.size());
    findings_.push_back(std::move(finding));
}

namespace {

/// Of names for one place; more would be work for a file whose names are all alike.
constexpr std::size_t compared_name_bytes = 64;

} // namespace

FunctionIndex::FunctionIndex(const CodeImage& image)
    : image_(image) {
    for (const CodeSymbol& symbol : image.symbols) {
        if (symbol.function && symbol.section < image.sections.size()) {
            functions_.push_back(symbol);
        }
    }
    // Of several names for one place the same one each time: the one that says its size, then by
    // the beginnings of the names, then the last in the file.
    std::stable_sort(functions_.begin(), functions_.end(), [](const auto& a, const auto& b) {
        return std::tuple(a.section, a.address, a.size, b.name.substr(0, compared_name_bytes)) <
               std::tuple(b.section, b.address, b.size, a.name.substr(0, compared_name_bytes));
    });
}

const std::string& FunctionIndex::shown(const CodeSymbol& function) const {
    std::string& name = shown_[&function];
    if (name.empty()) {
        name = readable_name(function.name);
    }
    return name;
}

std::vector<CodeSymbol>::const_iterator FunctionIndex::behind(std::uint32_t section,
                                                              std::uint64_t address) const {
    return std::upper_bound(functions_.begin(),
                            functions_.end(),
                            std::pair(section, address),
                            [](const auto& place, const CodeSymbol& symbol) {
                                return place < std::pair(symbol.section, symbol.address);
                            });
}

const CodeSymbol* FunctionIndex::find(std::uint32_t section, std::uint64_t address) const {
    const auto next = behind(section, address);
    if (next == functions_.begin()) {
        return nullptr;
    }
    const CodeSymbol& symbol = *std::prev(next);
    const bool contains =
        symbol.section == section && (symbol.size == 0 || address - symbol.address < symbol.size);
    return contains ? &symbol : nullptr;
}

std::uint64_t FunctionIndex::next_start(std::uint32_t section, std::uint64_t address) const {
    const CodeSection& code = image_.sections[section];
    const std::uint64_t end = code.address + code.bytes.size();
    const auto next = behind(section, address);
    return next != functions_.end() && next->section == section ? std::min(next->address, end)
                                                                : end;
}

Finding finding_at(const CodeImage& image,
                   const FunctionIndex& functions,
                   std::uint32_t section,
                   std::uint64_t address) {
    Finding finding;
    if (const CodeSymbol* function = functions.find(section, address)) {
        finding.function = functions.shown(*function);
    }
    if (section < image.sections.size()) {
        finding.section = image.sections[section].name;
    }
    finding.offset = address;
    return finding;
}

} // namespace twinstep::tools::lint

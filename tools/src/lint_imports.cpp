// SPDX-License-Identifier: MIT
// Imports against the rules.
#include "lint_findings.hpp"
#include "lint_names.hpp"

#include <optional>
#include <set>

namespace twinstep::tools::lint {

namespace {

/// An import that a rule is about.
struct Banned {
    std::optional<Verdict> verdict;
    std::string shown;
    bool found = false; ///< A place that uses it is known.
};

/// The readable name if a rule for C++ may be about it, all of which are about std; otherwise as it
/// is.
std::string standard_name(std::string_view plain) {
    const bool standard =
        plain.starts_with("_Z") && plain.substr(0, 8).find('S') != std::string_view::npos;
    return standard ? readable_name(plain) : std::string(plain);
}

Banned judge_import(const CodeImage& image, const Import& import) {
    Banned banned;
    const bool coff32 = image.coff && image.machine == Machine::x86_32;
    const std::string_view plain = plain_name(import.name, coff32);
    const std::string path = standard_name(plain);
    banned.verdict = path == plain ? judge_function(plain, image.coff) : judge_path(path);
    if (banned.verdict) {
        banned.shown = path == plain ? readable_name(import.name) : path;
        if (!import.version.empty()) {
            banned.shown += "@";
            banned.shown += import.version;
        }
    }
    return banned;
}

class ImportFinder {
public:
    ImportFinder(const CodeImage& image, const FunctionIndex& functions, FindingList& list)
        : image_(image)
        , functions_(functions)
        , list_(list) {
        banned_.reserve(image.imports.size());
        for (const Import& import : image.imports) {
            banned_.push_back(judge_import(image, import));
        }
    }

    void run() {
        for (const ImportUse& use : image_.uses) {
            add_use(use.import, use.section, use.address);
        }
        if (!image_.slots.empty()) {
            for (const LinkedCall& call : linked_calls(image_)) {
                add_use(call.import, call.section, call.address);
            }
        }
        // Some are used from data only; of some nobody says where.
        for (std::size_t i = 0; i < banned_.size(); ++i) {
            if (banned_[i].verdict && !banned_[i].found) {
                Finding finding;
                finding.section = image_.imports[i].in_data ? in_data : "";
                add(std::move(finding), banned_[i]);
            }
        }
    }

private:
    void add_use(std::uint32_t import, std::uint32_t section, std::uint64_t address) {
        if (import < banned_.size() && banned_[import].verdict) {
            banned_[import].found = true;
            add(finding_at(image_, functions_, section, address), banned_[import]);
        }
    }

    void add(Finding finding, const Banned& banned) {
        finding.symbol = banned.shown;
        finding.hazard = banned.verdict->hazard;
        finding.instead = banned.verdict->instead;
        list_.add(std::move(finding), banned.verdict->base);
    }

    const CodeImage& image_;
    const FunctionIndex& functions_;
    FindingList& list_;
    std::vector<Banned> banned_;
};

/// Templates in any file; functions of the C library only where it was linked in, because an object
/// may have a function of such a name for itself.
void find_definitions(const CodeImage& image, const FunctionIndex& functions, FindingList& list) {
    const bool coff32 = image.coff && image.machine == Machine::x86_32;
    // Programs of Windows have a stub of the same name for each import.
    std::set<std::string_view> imported;
    for (const Import& import : image.imports) {
        imported.insert(plain_name(import.name, coff32));
    }
    for (const CodeSymbol& symbol : image.symbols) {
        const std::string_view plain = plain_name(symbol.name, coff32);
        if (!symbol.function || imported.contains(plain)) {
            continue;
        }
        const std::string path = standard_name(plain);
        std::optional<Verdict> verdict;
        if (path != plain) {
            verdict = judge_definition(path);
        } else if (image.linked || plain == "set_fast_math") {
            verdict = judge_function(plain, image.coff);
        }
        if (verdict) {
            Finding finding = finding_at(image, functions, symbol.section, symbol.address);
            finding.symbol = path;
            finding.hazard = verdict->hazard;
            finding.instead = verdict->instead;
            list.add(std::move(finding), verdict->base);
        }
    }
}

} // namespace

void find_imports(const CodeImage& image, const FunctionIndex& functions, FindingList& list) {
    ImportFinder(image, functions, list).run();
    find_definitions(image, functions, list);
}

} // namespace twinstep::tools::lint

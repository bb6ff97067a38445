// SPDX-License-Identifier: MIT
// C++ names are read from left to right, once, with a count of what is open instead of a stack: the
// names of a hostile file cost no more than their length.
#include "lint_names.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace twinstep::tools::lint {

namespace {

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

bool is_lower(char c) {
    return c >= 'a' && c <= 'z';
}

constexpr std::array<std::pair<std::string_view, std::string_view>, 6> abbreviations{
    {{"Sa", "std::allocator"},
     {"Sb", "std::basic_string"},
     {"Ss", "std::string"},
     {"Si", "std::istream"},
     {"So", "std::ostream"},
     {"Sd", "std::iostream"}}};

/// Operators with a spelling of their own; the others are shown by their letters.
constexpr std::array<std::pair<std::string_view, std::string_view>, 20> operators{
    {{"cl", "()"},  {"ix", "[]"}, {"ls", "<<"}, {"rs", ">>"},   {"eq", "=="},
     {"ne", "!="},  {"lt", "<"},  {"gt", ">"},  {"le", "<="},   {"ge", ">="},
     {"ss", "<=>"}, {"pl", "+"},  {"mi", "-"},  {"ml", "*"},    {"dv", "/"},
     {"aS", "="},   {"pL", "+="}, {"mI", "-="}, {"nw", " new"}, {"dl", " delete"}}};

/// Namespaces that only say which version of a library it is.
bool is_inline_namespace(std::string_view name) {
    return name == "__1" || name == "__cxx11" || name == "_V2" || name == "__ndk1";
}

class NameReader {
public:
    explicit NameReader(std::string_view text)
        : text_(text) {}

    /// The path, or empty if the name is not understood.
    std::string read() {
        if (!take("_Z")) {
            return {};
        }
        if (peek() == 'G' && peek(1) == 'V' && is_lower(peek(2))) {
            return {}; // A function of a vector library, not a guard variable.
        }
        for (const std::string_view special : {"GV", "TV", "TI", "TS", "TT"}) {
            take(special);
        }
        bool good = true;
        while (good && at_ < text_.size() && !done_ && path_.size() <= shown_name_bytes_max) {
            good = read_part();
        }
        return good && !path_.empty() ? path_ : std::string();
    }

private:
    char peek(std::size_t ahead = 0) const {
        return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
    }

    /// Never stands behind the end of the text.
    bool take(std::string_view text) {
        if (text_.substr(at_).starts_with(text)) {
            at_ += text.size();
            return true;
        }
        return false;
    }

    void add(std::string_view part) {
        if (is_inline_namespace(part)) {
            return;
        }
        last_ = part;
        if (!path_.empty()) {
            path_ += "::";
        }
        path_ += part;
    }

    /// An unnested name is over with its first part, a nested one with its E; then come parameters.
    bool finish_name() {
        if (locals_ == 0) {
            done_ = true;
            return true;
        }
        // Inside of a function: its parameters, then what is declared in it.
        --locals_;
        if (!skip_to_end()) {
            return false;
        }
        if (take("s") || take("d")) {
            done_ = true;
        }
        return true;
    }

    bool read_part() {
        const char c = peek();
        if (c == 'Z' && !nested_) {
            ++at_;
            ++locals_;
            return true;
        }
        if (c == 'N' && !nested_) {
            ++at_;
            nested_ = true;
            while (take("r") || take("V") || take("K") || take("R") || take("O")) {
            }
            return true;
        }
        if (c == 'E' && nested_) {
            ++at_;
            nested_ = false;
            return finish_name();
        }
        if (c == 'I') {
            ++at_;
            return skip_to_end();
        }
        if (c == 'B') { // ABI tag
            ++at_;
            return source_name().size() > 0;
        }
        const bool prefix = c == 'S';
        if (!read_component()) {
            return false;
        }
        // "St" alone is a prefix, and template arguments belong to what they follow.
        if (!nested_ && !(prefix && last_ == "std")) {
            while (peek() == 'B' || peek() == 'I') {
                if (!read_part()) {
                    return false;
                }
            }
            return finish_name();
        }
        return true;
    }

    bool read_component() {
        take("L"); // internal linkage
        const char c = peek();
        if (is_digit(c)) {
            const std::string_view name = source_name();
            if (name.empty()) {
                return false;
            }
            add(name.starts_with("_GLOBAL__N") ? "(anonymous namespace)" : name);
            return true;
        }
        if (c == 'S') {
            return read_substitution();
        }
        if ((c == 'C' || c == 'D') && is_digit(peek(1))) {
            at_ += 2;
            const std::string name = (c == 'D' ? "~" : "") + last_;
            add(name);
            return true;
        }
        if (c == 'U' && (peek(1) == 'l' || peek(1) == 't')) {
            const bool lambda = peek(1) == 'l';
            at_ += 2;
            if (lambda && !skip_to_end()) {
                return false;
            }
            while (is_digit(peek())) {
                ++at_;
            }
            add(lambda ? "{lambda}" : "{unnamed}");
            return take("_");
        }
        return read_operator();
    }

    bool read_substitution() {
        if (take("St")) {
            add("std");
            return true;
        }
        for (const auto& [letters, name] : abbreviations) {
            if (take(letters)) {
                add(name);
                last_ = name.substr(name.find_last_of(':') + 1);
                return true;
            }
        }
        return false; // Of a part that was read before; rare at this place.
    }

    bool read_operator() {
        if (take("cv")) {
            return false; // A conversion: its name is a type.
        }
        if (!is_lower(peek()) || at_ + 2 > text_.size()) {
            return false;
        }
        const std::string_view letters = text_.substr(at_, 2);
        at_ += 2;
        std::string name = "operator ";
        name += letters;
        for (const auto& [code, spelling] : operators) {
            if (code == letters) {
                name = "operator";
                name += spelling;
            }
        }
        add(name);
        return true;
    }

    /// A length and so many characters.
    std::string_view source_name() {
        std::size_t length = 0;
        while (is_digit(peek()) && length <= text_.size()) {
            length = length * 10 + static_cast<std::size_t>(peek() - '0');
            ++at_;
        }
        if (length == 0 || length > text_.size() - at_) {
            return {};
        }
        const std::string_view name = text_.substr(at_, length);
        at_ += length;
        return name;
    }

    /// Past the E that closes what is open, over types, names, literals and expressions.
    bool skip_to_end() {
        std::size_t open = 1;
        while (open > 0 && at_ < text_.size()) {
            const char c = peek();
            if (is_digit(c)) {
                if (source_name().empty()) {
                    return false;
                }
                continue;
            }
            ++at_;
            if (c == 'E') {
                --open;
            } else if (c == 'S' || c == 'T') {
                skip_reference(c);
            } else if (c == 'L') {
                if (!skip_literal(open)) {
                    return false;
                }
            } else if (std::string_view("INFJXZ").find(c) != std::string_view::npos) {
                ++open;
            } else if (c == 'D') {
                // Dp, Dn, Da, Do, DF16_: of two letters; DT and Dt hold an expression.
                open += static_cast<std::size_t>(peek() == 'T' || peek() == 't');
                at_ = std::min(at_ + 1, text_.size());
            } else if (c == 'A') {
                while (is_digit(peek())) {
                    ++at_;
                }
            } else if (c == 'U' && peek() == 'l') {
                ++open;
                ++at_;
            }
        }
        return open == 0;
    }

    /// S_, S12_, St, Sa, T_, T3_: after the first letter.
    void skip_reference(char kind) {
        if (kind == 'S' && is_lower(peek())) {
            ++at_;
            return;
        }
        while (at_ < text_.size() && peek() != '_') {
            ++at_;
        }
        static_cast<void>(take("_"));
    }

    /// A literal in template arguments, after its L: of a built-in type, or of one with a name.
    bool skip_literal(std::size_t& open) {
        if (take("_Z")) {
            ++open;
            return true;
        }
        if (is_lower(peek())) {
            const std::size_t end = text_.find('E', at_);
            if (end == std::string_view::npos) {
                return false;
            }
            at_ = end + 1;
            return true;
        }
        // An enumerator: the type, then digits up to E, which are no length of a name.
        if (is_digit(peek())) {
            static_cast<void>(source_name());
        } else if (take("N")) {
            if (!skip_to_name_end()) {
                return false;
            }
        } else {
            return false;
        }
        while (is_digit(peek()) || peek() == 'n') {
            ++at_;
        }
        return take("E");
    }

    /// The rest of a nested name without template arguments.
    bool skip_to_name_end() {
        while (at_ < text_.size() && peek() != 'E') {
            if (is_digit(peek())) {
                if (source_name().empty()) {
                    return false;
                }
            } else if (take("S")) {
                skip_reference('S');
            } else {
                return false;
            }
        }
        return take("E");
    }

    std::string_view text_;
    std::size_t at_ = 0;
    std::size_t locals_ = 0;
    bool nested_ = false;
    bool done_ = false;
    std::string path_;
    std::string last_;
};

} // namespace

std::string readable_name(std::string_view symbol) {
    std::string name = NameReader(symbol).read();
    if (name.empty()) {
        name = symbol;
    }
    if (name.size() > shown_name_bytes_max) {
        name.resize(shown_name_bytes_max);
        name += "...";
    }
    return name;
}

std::string_view plain_name(std::string_view symbol, bool coff32) {
    if (symbol.starts_with("__imp_")) {
        symbol.remove_prefix(6);
    }
    if (coff32 && (symbol.starts_with('_') || symbol.starts_with('@'))) {
        symbol.remove_prefix(1);
    }
    if (const std::size_t version = symbol.find('@');
        version != 0 && !symbol.starts_with('?') && version != std::string_view::npos) {
        symbol = symbol.substr(0, version);
    }
    return symbol;
}

} // namespace twinstep::tools::lint

// SPDX-License-Identifier: MIT
// A walk over a state that knows the path of where it is.
#pragma once

#include "twinstep/sim/archive.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace twinstep {

/// Shows each field with its section and its path in it, such as "bodies[2].x". Of an input, which
/// has no sections, the outermost node is the input itself and no part of the path.
class PathVisitor : public FieldVisitor {
public:
    /// Which of the two is shown.
    enum class Root : std::uint8_t { state, input };

    explicit PathVisitor(Root root = Root::state)
        : root_(root) {}

    bool begin_section(std::string_view name) final {
        section_ = name;
        path_.clear();
        levels_.assign(1, {});
        return wants(section_);
    }

    void end_section() final {}

    void begin_object(std::string_view name, bool) final {
        if (root_ == Root::state || levels_.size() > 1) {
            append(name);
        }
        levels_.push_back({path_.size(), 0});
    }

    void end_object() final { levels_.pop_back(); }

    void field(std::string_view name, const FieldValue& value) final {
        append(name);
        leaf(section_, path_, value);
    }

protected:
    /// Whether a section's fields are to be shown.
    virtual bool wants(const std::string& section) {
        static_cast<void>(section);
        return true;
    }

    virtual void
    leaf(const std::string& section, const std::string& path, const FieldValue& value) = 0;

private:
    /// One that the walk is in: where its path ends, and how many children were met.
    struct Level {
        std::size_t length = 0;
        std::size_t children = 0;
    };

    void append(std::string_view name) {
        Level& parent = levels_.back();
        path_.resize(parent.length);
        if (name.empty()) {
            path_ += '[' + std::to_string(parent.children) + ']';
        } else {
            path_ += path_.empty() ? "" : ".";
            path_ += name;
        }
        ++parent.children;
    }

    Root root_;
    std::string section_;
    std::string path_;
    std::vector<Level> levels_{1};
};

} // namespace twinstep

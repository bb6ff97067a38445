// SPDX-License-Identifier: MIT
// Builds the JSON of a state from what a FieldVisitor is shown.
#include "state_tree.hpp"

#include <bit>
#include <vector>

namespace twinstep::tools {

namespace {

/// What JSON's numbers may not tell apart: the number, and its bits.
Json exact(double number, const FieldValue& value) {
    const std::string hex = to_hex(value.bits);
    return {{"value", number}, {"bits", hex.substr(hex.size() - value.width / 4U)}};
}

Json number(const FieldValue& value) {
    switch (value.type) {
    case FieldValue::Type::boolean:
        return value.bits != 0;
    case FieldValue::Type::unsigned_integer:
        return value.width == 64 ? Json(std::to_string(value.bits)) : Json(value.bits);
    case FieldValue::Type::signed_integer: {
        const auto number = static_cast<std::int64_t>(value.bits);
        if (value.fraction_bits != 0) {
            const double scale = static_cast<double>(std::uint64_t{1} << value.fraction_bits);
            return exact(static_cast<double>(number) / scale, value);
        }
        return value.width == 64 ? Json(std::to_string(number)) : Json(number);
    }
    case FieldValue::Type::float32:
        return exact(std::bit_cast<float>(static_cast<std::uint32_t>(value.bits)), value);
    case FieldValue::Type::float64:
        return exact(std::bit_cast<double>(value.bits), value);
    case FieldValue::Type::text:
        return std::string(value.text);
    }
    return {};
}

class TreeBuilder final : public FieldVisitor {
public:
    TreeBuilder() { open_.push_back(Node{{}, Json::object()}); }

    bool begin_section(std::string_view name) override {
        open_.push_back(Node{std::string(name), Json::object()});
        return true;
    }

    void end_section() override { close(); }

    void begin_object(std::string_view name, bool list) override {
        open_.push_back(Node{std::string(name), list ? Json::array() : Json::object()});
    }

    void end_object() override { close(); }

    void field(std::string_view name, const FieldValue& value) override {
        add(std::string(name), number(value));
    }

    Json take() { return std::move(open_.front().json); }

private:
    struct Node {
        std::string name;
        Json json;
    };

    void add(std::string name, Json value) {
        Json& parent = open_.back().json;
        if (parent.is_array()) {
            parent.push_back(std::move(value));
        } else {
            // A value that its serialize left unnamed is called by its place.
            parent[name.empty() ? std::to_string(parent.size()) : std::move(name)] =
                std::move(value);
        }
    }

    void close() {
        Node node = std::move(open_.back());
        open_.pop_back();
        add(std::move(node.name), std::move(node.json));
    }

    std::vector<Node> open_;
};

} // namespace

Json state_tree(const Simulation& simulation) {
    TreeBuilder builder;
    simulation.visit(builder);
    return builder.take();
}

} // namespace twinstep::tools

#include "server/given_options.h"

#include <cerrno>
#include <cmath>
#include <cstdlib>

#include "base/error.h"

namespace server {

namespace {

// strtod and strtoll also take hexadecimal digits, "inf" and leading blanks.
bool is_decimal(const std::string& text) {
    return !text.empty() && text.find_first_not_of("+-.0123456789eE") == std::string::npos;
}

}  // namespace

OptionValue parse_option_value(const OptionSpec& spec, std::string_view text) {
    const std::string copy(text);
    char* end = nullptr;
    switch (spec.kind) {
        case Kind::flag:
            if (copy == "true" || copy == "1" || copy.empty()) return true;
            if (copy == "false" || copy == "0") return false;
            break;
        case Kind::integer: {
            if (spec.name == "verbose") {
                // -vvv, and the switch that it was in old configuration files.
                if (copy == "true") return int64_t{1};
                if (copy == "false") return int64_t{0};
                const bool letters = copy.find_first_not_of('v') == std::string::npos;
                if (letters) return static_cast<int64_t>(copy.size());
            }
            errno = 0;
            const long long value = std::strtoll(copy.c_str(), &end, 10);
            if (is_decimal(copy) && *end == '\0' && errno == 0) return static_cast<int64_t>(value);
            break;
        }
        case Kind::number: {
            const double value = std::strtod(copy.c_str(), &end);
            if (is_decimal(copy) && *end == '\0' && std::isfinite(value)) return value;
            break;
        }
        case Kind::text:
            return copy;
        case Kind::list:
            return std::vector<std::string>{copy};
    }
    base::fail(base::kBadValue, "the argument ('{}') for option '--{}' is invalid", text,
               spec.name);
}

void GivenOptions::add(const OptionSpec& spec, OptionValue value, const std::string& shown_as,
                       OptionValue shown) {
    if (!values_.emplace(spec.name, std::move(value)).second) return;
    shown_.emplace(shown_as, std::move(shown));
}

void GivenOptions::add(const OptionSpec& spec, OptionValue value) {
    const bool by_yaml_name = !spec.yaml.empty() && !spec.yaml_opposite;
    OptionValue shown = value;
    add(spec, std::move(value), by_yaml_name ? spec.yaml.front() : spec.name, std::move(shown));
}

template <typename T>
const T* GivenOptions::find(std::string_view name) const {
    const auto found = values_.find(name);
    return found == values_.end() ? nullptr : std::get_if<T>(&found->second);
}

bool GivenOptions::flag(std::string_view name) const {
    const bool* value = find<bool>(name);
    return value != nullptr && *value;
}

std::string GivenOptions::text(std::string_view name, std::string_view otherwise) const {
    const std::string* value = find<std::string>(name);
    return value != nullptr ? *value : std::string(otherwise);
}

int64_t GivenOptions::integer(std::string_view name, int64_t otherwise) const {
    const int64_t* value = find<int64_t>(name);
    return value != nullptr ? *value : otherwise;
}

double GivenOptions::number(std::string_view name, double otherwise) const {
    const double* value = find<double>(name);
    return value != nullptr ? *value : otherwise;
}

std::string GivenOptions::as_text(std::string_view name) const {
    if (const bool* value = find<bool>(name)) return *value ? "true" : "false";
    if (const int64_t* value = find<int64_t>(name)) return fmt::format("{}", *value);
    if (const double* value = find<double>(name)) return fmt::format("{}", *value);
    return text(name);
}

std::vector<std::string> GivenOptions::list(std::string_view name) const {
    const auto* value = find<std::vector<std::string>>(name);
    return value != nullptr ? *value : std::vector<std::string>{};
}

std::vector<std::string> GivenOptions::names() const {
    std::vector<std::string> result;
    for (const auto& [name, value] : values_)
        result.push_back(name);
    return result;
}

namespace {

// One level of the nested document.
struct Node {
    const OptionValue* value = nullptr;
    std::map<std::string, Node> children;
};

void append_value(bson::Builder& out, const std::string& name, const OptionValue& value) {
    if (const bool* v = std::get_if<bool>(&value)) {
        out.append(name, *v);
    } else if (const int64_t* v = std::get_if<int64_t>(&value)) {
        out.append_number(name, *v);
    } else if (const double* v = std::get_if<double>(&value)) {
        out.append(name, *v);
    } else if (const std::string* v = std::get_if<std::string>(&value)) {
        out.append(name, *v);
    } else {
        // Pairs of setParameter become fields.
        bson::Builder sub = out.sub_object(name);
        for (const std::string& pair : std::get<std::vector<std::string>>(value)) {
            const size_t at = pair.find('=');
            sub.append(pair.substr(0, at), at == std::string::npos ? "" : pair.substr(at + 1));
        }
    }
}

void append_node(bson::Builder& out, const Node& node) {
    for (const auto& [name, child] : node.children) {
        if (child.value != nullptr) {
            append_value(out, name, *child.value);
        } else {
            bson::Builder sub = out.sub_object(name);
            append_node(sub, child);
        }
    }
}

}  // namespace

bson::Object GivenOptions::parsed() const {
    Node root;
    for (const auto& [path, value] : shown_) {
        Node* node = &root;
        size_t begin = 0;
        while (begin <= path.size()) {
            const size_t dot = std::min(path.find('.', begin), path.size());
            node = &node->children[path.substr(begin, dot - begin)];
            begin = dot + 1;
        }
        node->value = &value;
    }
    bson::Builder out;
    append_node(out, root);
    return out.object();
}

}  // namespace server

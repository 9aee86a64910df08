#include "server/given_options.h"

#include <algorithm>

#include "server/secret_words.h"

namespace server {

using options::Option;
using options::Value;

void GivenOptions::add(Option& option, Value value, const std::string& shown_as, Value shown) {
    if (!values_.emplace(&option, std::move(value)).second) return;
    if (option.description().secret) shown = std::string(kSecret);
    shown_.emplace(shown_as, std::move(shown));
}

void GivenOptions::add(Option& option, Value value) {
    const options::Description& d = option.description();
    const bool by_yaml_name = !d.yaml.empty() && !d.yaml_opposite;
    Value shown = value;
    add(option, std::move(value), by_yaml_name ? d.yaml.front() : d.name, std::move(shown));
}

const Value* GivenOptions::find(const Option& option) const {
    const auto found = values_.find(&option);
    return found == values_.end() ? nullptr : &found->second;
}

namespace {

// One level of the nested document.
struct Node {
    const Value* value = nullptr;
    std::map<std::string, Node> children;
};

void append_value(bson::Builder& out, const std::string& name, const Value& value) {
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

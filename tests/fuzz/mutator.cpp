#include "mutator.h"

#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "target.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace fuzz {
namespace {

constexpr const char* kFields[] = {
    "a",     "b", "c", "_id", "x",  "0",   "1",   "a.b",  "a.0",   "b.a",   "a.$",        "a.b.c",
    "a.1.b", "",  "$", "a.",  ".a", "$id", "ref", "$ref", "_id.a", "a.b.0", "99999999999"};
constexpr const char* kStrings[] = {
    "",    "a",      "b",      "abc", "$a",       "$a.b",     "$$ROOT", "$$CURRENT", "$_id", "^a",
    "a|b", "(a*)*b", "hashed", "i",   "%Y-%m-%d", "\xc3\xa4", "\xff",   "$$this",    "2014"};
constexpr double kDoubles[] = {0.0,
                               -0.0,
                               1.0,
                               -1.0,
                               0.5,
                               1e300,
                               -1e300,
                               5e-324,
                               9007199254740993.0,
                               9223372036854775808.0,
                               std::numeric_limits<double>::infinity(),
                               -std::numeric_limits<double>::infinity(),
                               std::numeric_limits<double>::quiet_NaN()};
constexpr int64_t kIntegers[] = {0,
                                 1,
                                 -1,
                                 2,
                                 10,
                                 63,
                                 64,
                                 1000000,
                                 std::numeric_limits<int32_t>::max(),
                                 std::numeric_limits<int32_t>::min(),
                                 int64_t{1} << 31,
                                 (int64_t{1} << 53) + 1,
                                 std::numeric_limits<int64_t>::max(),
                                 std::numeric_limits<int64_t>::min()};
constexpr int kNesting = 40;        // of one change that nests deeply
constexpr size_t kLongText = 1100;  // longer than an index key may be

// An element that can be changed. Names of array members count for nothing: they are written anew.
struct Node {
    bson::Type type = bson::Type::null;
    std::string name;
    std::vector<uint8_t> value;  // encoded; of objects and arrays `fields` instead
    std::vector<Node> fields;

    bool nests() const { return type == bson::Type::object || type == bson::Type::array; }
};

Node read(const bson::Element& e) {
    Node node;
    node.type = e.type();
    node.name = e.name();
    if (node.nests()) {
        for (const bson::Element& field : e.as_doc())
            node.fields.push_back(read(field));
    } else {
        node.value.assign(e.value_bytes().begin(), e.value_bytes().end());
    }
    return node;
}

void write_fields(const Node& node, bson::Builder& out) {
    for (const Node& field : node.fields) {
        const bson::IndexName index = out.next();
        const std::string_view name =
            node.type == bson::Type::array ? index.view() : std::string_view(field.name);
        if (field.type == bson::Type::object) {
            bson::Builder sub = out.sub_object(name);
            write_fields(field, sub);
        } else if (field.type == bson::Type::array) {
            bson::Builder sub = out.sub_array(name);
            write_fields(field, sub);
        } else {
            out.bytes(field.type, name, field.value);
        }
    }
}

// The documents of an input, as the fields of one node.
class Documents {
  public:
    Documents(const uint8_t* data, size_t size, unsigned seed) : random_(seed) {
        for (const bson::Object& doc : documents(data, size))
            top_.fields.push_back(document(doc.doc()));
    }

    bool empty() const { return top_.fields.empty(); }
    // Bytes written; 0 where they are too many.
    size_t write(uint8_t* to, size_t max_size) const {
        bson::Buffer out;
        for (const Node& doc : top_.fields) {
            bson::Builder builder(out);
            write_fields(doc, builder);
        }
        if (out.size() > max_size) return 0;
        std::copy(out.data(), out.data() + out.size(), to);
        return out.size();
    }

    void change() {
        for (size_t n = 1 + below(3); n > 0; --n)
            change_once();
    }
    // Puts a part of the other one somewhere into this one.
    void mix(const Documents& other) {
        FieldPosition to = any_place(), from = other.any_place(random_);
        if (to.parent == nullptr || from.parent == nullptr) return;
        set_value(node(to), node(from));
    }

  private:
    struct FieldPosition {
        Node* parent = nullptr;
        size_t at = 0;
    };
    static Node& node(const FieldPosition& place) { return place.parent->fields[place.at]; }

    static Node document(bson::Doc doc) {
        Node node;
        node.type = bson::Type::object;
        for (const bson::Element& field : doc)
            node.fields.push_back(read(field));
        return node;
    }

    size_t below(size_t n) { return random_() % n; }
    template <typename T, size_t N>
    const T& any(const T (&values)[N]) {
        return values[below(N)];
    }

    // Every field at any depth; the documents themselves are none.
    static void collect(Node& parent, std::vector<FieldPosition>& places) {
        for (size_t i = 0; i < parent.fields.size(); ++i) {
            places.push_back({&parent, i});
            collect(parent.fields[i], places);
        }
    }
    FieldPosition any_place() { return any_place(random_); }
    FieldPosition any_place(std::minstd_rand& random) const {
        std::vector<FieldPosition> places;
        for (const Node& doc : top_.fields)
            collect(const_cast<Node&>(doc), places);
        return places.empty() ? FieldPosition() : places[random() % places.size()];
    }
    // A document, object or array.
    Node& any_parent() {
        for (int tries = 0; tries < 4; ++tries) {
            const FieldPosition place = any_place();
            if (place.parent == nullptr) break;
            if (node(place).nests()) return node(place);
        }
        return top_.fields[below(top_.fields.size())];
    }

    std::string any_name() {
        const std::span<const char* const> known = words();
        switch (below(8)) {
            case 0:
            case 1:
            case 2:
                if (!known.empty()) return known[below(known.size())];
                [[fallthrough]];
            case 3: {
                const FieldPosition place = any_place();
                if (place.parent != nullptr) return node(place).name;
                [[fallthrough]];
            }
            case 4:
                return std::string(any(kFields)) + "." + any(kFields);
            default:
                return any(kFields);
        }
    }
    std::string any_text() {
        switch (below(16)) {
            case 0:
                return std::string(kLongText, 'x');
            case 1: {
                std::string path = "a";
                for (size_t n = below(250); n > 0; --n)
                    path += below(2) == 0 ? ".a" : ".0";
                return path;
            }
            case 2:
            case 3:
                return any_name();
            case 4:
                return "$" + any_name();
            case 5:
                return any_name() + std::string(1, '\0') + any(kStrings);
            default:
                return any(kStrings);
        }
    }
    Node any_value() {
        bson::Builder b;
        switch (below(18)) {
            case 0:
            case 1:
                b.append("", any(kDoubles));
                break;
            case 2:
            case 3:
                b.append("", static_cast<int32_t>(any(kIntegers)));
                break;
            case 4:
                b.append("", any(kIntegers));
                break;
            case 5:
            case 6:
            case 7:
                b.append("", any_text());
                break;
            case 8:
                b.append("", below(2) == 0);
                break;
            case 9:
                b.append_null("");
                break;
            case 10:
                b.append_date("", any(kIntegers));
                break;
            case 11:
                b.append_timestamp("", static_cast<uint64_t>(any(kIntegers)));
                break;
            case 12:
                b.append_regex("", any(kStrings), below(2) == 0 ? "" : "imsx");
                break;
            case 13:
                below(2) == 0 ? b.append_min_key("") : b.append_max_key("");
                break;
            case 14:
                below(2) == 0 ? b.append_undefined("") : b.append_symbol("", any_text());
                break;
            case 15: {
                const std::string bytes = any_text();
                b.append_binary("", static_cast<uint8_t>(below(7)),
                                {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
                break;
            }
            case 16:
                below(2) == 0 ? b.append("", bson::ObjectId()) : b.append_code("", any_text());
                break;
            default: {
                bson::Builder sub = below(2) == 0 ? b.sub_object("") : b.sub_array("");
            }
        }
        return read(b.doc().first());
    }

    static void set_value(Node& to, Node from) {
        from.name = to.name;
        to = std::move(from);
    }
    // {name: value}, or [value].
    void nest(Node& inner) {
        Node outer;
        outer.type = below(3) == 0 ? bson::Type::array : bson::Type::object;
        outer.name = inner.name;
        inner.name = any_name();
        outer.fields.push_back(std::move(inner));
        inner = std::move(outer);
    }
    void change_bytes(Node& leaf) {
        const bool text = leaf.type == bson::Type::string || leaf.type == bson::Type::symbol ||
                          leaf.type == bson::Type::code;
        if (!text) {
            if (leaf.value.empty() || leaf.type == bson::Type::regex ||
                leaf.type == bson::Type::binary || leaf.type == bson::Type::db_pointer ||
                leaf.type == bson::Type::code_with_scope)
                return set_value(leaf, any_value());
            LLVMFuzzerMutate(leaf.value.data(), leaf.value.size(), leaf.value.size());
            if (leaf.type == bson::Type::boolean) leaf.value[0] &= 1;
            return;
        }
        std::vector<uint8_t> bytes(leaf.value.begin() + 4, leaf.value.end() - 1);
        const size_t size = bytes.size();
        bytes.resize(size + 16);
        bytes.resize(LLVMFuzzerMutate(bytes.data(), size, bytes.size()));
        bson::Builder b;
        b.append("", std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
        const bson::Type type = leaf.type;
        set_value(leaf, read(b.doc().first()));
        leaf.type = type;
    }
    void insert(Node& parent, Node field) {
        const auto at = static_cast<std::ptrdiff_t>(below(parent.fields.size() + 1));
        parent.fields.insert(parent.fields.begin() + at, std::move(field));
    }

    void change_once() {
        const FieldPosition place = any_place();
        const size_t kind = below(32);
        if (place.parent == nullptr || kind < 5) {
            Node field = any_value();
            field.name = any_name();
            return insert(any_parent(), std::move(field));
        }
        Node& chosen = node(place);
        switch (kind) {
            case 5:
            case 6:
            case 7:
                place.parent->fields.erase(place.parent->fields.begin() +
                                           static_cast<std::ptrdiff_t>(place.at));
                return;
            case 8:
            case 9:
                return insert(*place.parent, Node(chosen));
            case 10:
            case 11:
            case 12: {
                Node copy = chosen;
                return insert(any_parent(), std::move(copy));
            }
            case 13:
            case 14:
            case 15:
                return set_value(chosen, Node(node(any_place())));
            case 16:
            case 17:
            case 18:
            case 19:
                chosen.name = any_name();
                return;
            case 20:
            case 21:
                return nest(chosen);
            case 22:
                if (!chosen.fields.empty()) {
                    Node inner = std::move(chosen.fields.front());
                    if (below(2) == 0) inner.name = chosen.name;
                    chosen = std::move(inner);
                }
                return;
            case 23:
                return std::swap(chosen, place.parent->fields[below(place.parent->fields.size())]);
            case 24:
                if (chosen.nests())
                    chosen.type =
                        chosen.type == bson::Type::array ? bson::Type::object : bson::Type::array;
                return;
            case 25:
                if (below(8) == 0)
                    for (int i = 0; i < kNesting; ++i)
                        nest(chosen);
                return;
            case 26: {
                // Many fields: work that grows faster than they do shows.
                if (below(8) != 0) return;
                Node& parent = *place.parent;
                const Node one = chosen;
                for (int i = 0; i < 200; ++i) {
                    parent.fields.push_back(one);
                    parent.fields.back().name += std::to_string(i);
                }
                return;
            }
            default:
                if (chosen.nests() || below(2) == 0) return set_value(chosen, any_value());
                return change_bytes(chosen);
        }
    }

    Node top_;
    std::minstd_rand random_;
};

}  // namespace
}  // namespace fuzz

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
    fuzz::Documents documents(data, size, seed);
    if (documents.empty()) {
        // Something to begin with: two empty documents.
        constexpr uint8_t kEmpty[] = {5, 0, 0, 0, 0, 5, 0, 0, 0, 0};
        if (max_size < sizeof kEmpty) return size;
        std::copy(std::begin(kEmpty), std::end(kEmpty), data);
        return sizeof kEmpty;
    }
    documents.change();
    const size_t written = documents.write(data, max_size);
    return written == 0 ? size : written;
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t* data1, size_t size1,
                                            const uint8_t* data2, size_t size2, uint8_t* out,
                                            size_t max_out_size, unsigned seed) {
    fuzz::Documents to(data1, size1, seed);
    const fuzz::Documents from(data2, size2, seed);
    if (to.empty() || from.empty()) return 0;
    to.mix(from);
    return to.write(out, max_out_size);
}

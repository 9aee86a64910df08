#include "bson/testing/json.h"

#include <bson/bson.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <map>
#include <memory>
#include <stdexcept>
#include <vector>

#include "base/error.h"

namespace bson {

namespace {

// A parsed JSON value, before type wrappers are examined.
struct Value {
    enum Kind { null, boolean, string, object, array } kind = null;
    bool truth = false;
    std::string text;
    struct Member;
    std::vector<Member> members;  // of arrays: without names

    const Value* find(std::string_view name) const;
};

struct Value::Member {
    std::string name;
    Value value;
};

const Value* Value::find(std::string_view name) const {
    for (const Member& member : members)
        if (member.name == name) return &member.value;
    return nullptr;
}

class Reader {
  public:
    explicit Reader(std::string_view text) : rest_(text) {}

    Value read() {
        skip();
        Value value;
        switch (peek()) {
            case '{':
                read_members(value, Value::object, '}');
                break;
            case '[':
                read_members(value, Value::array, ']');
                break;
            case '"':
                value.kind = Value::string;
                value.text = read_string();
                break;
            case 't':
                word("true");
                value.kind = Value::boolean;
                value.truth = true;
                break;
            case 'f':
                word("false");
                value.kind = Value::boolean;
                break;
            case 'n':
                word("null");
                break;
            default: {
                // A bare number: only data outside documents uses them.
                value.kind = Value::string;
                while (!rest_.empty() && std::string_view("+-.0123456789eE").find(rest_[0]) !=
                                             std::string_view::npos) {
                    value.text += take();
                }
                if (value.text.empty()) throw std::runtime_error("JSON value expected");
                Value number;
                number.kind = Value::object;
                value.kind = Value::string;
                const bool is_whole = value.text.find_first_of(".eE") == std::string::npos;
                number.members.push_back({is_whole ? "$numberInt" : "$numberDouble", value});
                return number;
            }
        }
        return value;
    }

  private:
    char peek() {
        if (rest_.empty()) throw std::runtime_error("JSON ends early");
        return rest_[0];
    }
    char take() {
        const char c = peek();
        rest_.remove_prefix(1);
        return c;
    }
    void skip() {
        while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\n'))
            rest_.remove_prefix(1);
    }
    void word(std::string_view expected) {
        if (!rest_.starts_with(expected)) throw std::runtime_error("unknown JSON word");
        rest_.remove_prefix(expected.size());
    }
    void read_members(Value& value, Value::Kind kind, char end) {
        value.kind = kind;
        take();
        skip();
        while (peek() != end) {
            std::string name;
            if (kind == Value::object) {
                name = read_string();
                skip();
                word(":");
            }
            value.members.push_back({std::move(name), read()});
            skip();
            if (peek() == ',') take();
            skip();
        }
        take();
    }
    std::string read_string() {
        word("\"");
        std::string out;
        while (peek() != '"') {
            if (peek() != '\\') {
                out += take();
                continue;
            }
            take();
            const char c = take();
            switch (c) {
                case 'n':
                    out += '\n';
                    break;
                case 't':
                    out += '\t';
                    break;
                case 'r':
                    out += '\r';
                    break;
                case 'b':
                    out += '\b';
                    break;
                case 'f':
                    out += '\f';
                    break;
                case 'u':
                    append_utf8(out, read_escape());
                    break;
                default:
                    out += c;
            }
        }
        take();
        return out;
    }
    uint32_t read_hex() {
        uint32_t unit = 0;
        std::from_chars(rest_.data(), rest_.data() + 4, unit, 16);
        rest_.remove_prefix(4);
        return unit;
    }
    uint32_t read_escape() {
        const uint32_t unit = read_hex();
        if (unit < 0xD800 || unit >= 0xDC00 || !rest_.starts_with("\\u")) return unit;
        rest_.remove_prefix(2);
        return 0x10000 + ((unit - 0xD800) << 10) + (read_hex() - 0xDC00);
    }
    static void append_utf8(std::string& out, uint32_t c) {
        if (c < 0x80) {
            out += static_cast<char>(c);
            return;
        }
        const int more = c < 0x800 ? 1 : (c < 0x10000 ? 2 : 3);
        static constexpr uint32_t kLead[] = {0, 0xC0, 0xE0, 0xF0};
        out += static_cast<char>(kLead[more] | c >> (6 * more));
        for (int i = more - 1; i >= 0; --i)
            out += static_cast<char>(0x80 | (c >> (6 * i) & 0x3F));
    }

    std::string_view rest_;
};

int64_t to_int(const std::string& text) {
    return std::strtoll(text.c_str(), nullptr, 10);
}

bson::ObjectId to_object_id(const std::string& hex) {
    bson::ObjectId id;
    for (size_t i = 0; i < 12; ++i)
        std::from_chars(hex.data() + 2 * i, hex.data() + 2 * i + 2, id.bytes[i], 16);
    return id;
}

std::vector<uint8_t> from_base64(const std::string& text) {
    static const std::string kLetters =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::vector<uint8_t> out;
    uint32_t bits = 0;
    int count = 0;
    for (const char c : text) {
        const size_t digit = kLetters.find(c);
        if (digit == std::string::npos) break;
        bits = bits << 6 | static_cast<uint32_t>(digit);
        count += 6;
        if (count >= 8) {
            count -= 8;
            out.push_back(static_cast<uint8_t>(bits >> count));
        }
    }
    return out;
}

void append(bson::Builder& out, std::string_view name, const Value& value);

void append_fields(bson::Builder& out, const Value& object) {
    for (const auto& [name, value] : object.members)
        append(out, name, value);
}

bool append_number(bson::Builder& out, std::string_view name, std::string_view kind,
                   const std::string& text) {
    if (kind == "$numberInt") {
        out.append(name, static_cast<int32_t>(to_int(text)));
    } else if (kind == "$numberLong") {
        out.append(name, to_int(text));
    } else if (kind == "$numberDouble") {
        out.append(name, text == "NaN" ? std::nan("") : std::strtod(text.c_str(), nullptr));
    } else if (kind == "$numberDecimal") {
        bson_decimal128_t decimal;
        if (!bson_decimal128_from_string(text.c_str(), &decimal)) return false;
        const uint64_t halves[] = {decimal.low, decimal.high};
        out.bytes(bson::Type::decimal128, name,
                  {reinterpret_cast<const uint8_t*>(halves), sizeof halves});
    } else {
        return false;
    }
    return true;
}

void append_db_pointer(bson::Builder& out, std::string_view name, const Value& value) {
    const std::string& ns = value.find("$ref")->text;
    const bson::ObjectId id = to_object_id(value.find("$id")->find("$oid")->text);
    std::vector<uint8_t> bytes(4);
    const auto size = static_cast<int32_t>(ns.size()) + 1;
    std::memcpy(bytes.data(), &size, 4);
    bytes.insert(bytes.end(), ns.c_str(), ns.c_str() + ns.size() + 1);
    bytes.insert(bytes.end(), id.bytes, id.bytes + 12);
    out.bytes(bson::Type::db_pointer, name, bytes);
}

void append_code_with_scope(bson::Builder& out, std::string_view name, const Value& value) {
    bson::Builder scope;
    append_fields(scope, *value.find("$scope"));
    const std::string& code = value.find("$code")->text;
    const bson::Doc doc = scope.doc();
    bson::Buffer bytes;
    bytes.append_value(static_cast<int32_t>(8 + code.size() + 1) + doc.size());
    bytes.append_value(static_cast<int32_t>(code.size() + 1));
    bytes.append(code.c_str(), code.size() + 1);
    bytes.append(doc.data(), static_cast<size_t>(doc.size()));
    out.bytes(bson::Type::code_with_scope, name, {bytes.data(), bytes.size()});
}

// Not inlined: under a sanitizer its many temporaries would make the frames of append(), which
// calls itself once per level of the document, too large for the stack.
[[gnu::noinline]] bool append_wrapped(bson::Builder& out, std::string_view name,
                                      const Value& object) {
    if (object.members.empty()) return false;
    const auto& [kind, inner] = object.members[0];
    if (object.members.size() == 2 && kind == "$code" && object.find("$scope") != nullptr) {
        append_code_with_scope(out, name, object);
        return true;
    }
    if (object.members.size() != 1) return false;
    if (inner.kind == Value::string && append_number(out, name, kind, inner.text)) return true;
    if (kind == "$oid") {
        out.append(name, to_object_id(inner.text));
    } else if (kind == "$date") {
        out.append_date(name, to_int(inner.find("$numberLong")->text));
    } else if (kind == "$timestamp") {
        out.append_timestamp(
            name, static_cast<uint64_t>(to_int(inner.find("t")->members[0].value.text)) << 32 |
                      static_cast<uint32_t>(to_int(inner.find("i")->members[0].value.text)));
    } else if (kind == "$binary") {
        uint8_t subtype = 0;
        const std::string& hex = inner.find("subType")->text;
        std::from_chars(hex.data(), hex.data() + hex.size(), subtype, 16);
        std::vector<uint8_t> data = from_base64(inner.find("base64")->text);
        // The old generic subtype repeats the length in front of the data.
        if (subtype == 2) {
            const auto size = static_cast<uint32_t>(data.size());
            const auto* bytes = reinterpret_cast<const uint8_t*>(&size);
            data.insert(data.begin(), bytes, bytes + sizeof size);
        }
        out.append_binary(name, subtype, data);
    } else if (kind == "$regularExpression") {
        out.append_regex(name, inner.find("pattern")->text, inner.find("options")->text);
    } else if (kind == "$code") {
        out.append_code(name, inner.text);
    } else if (kind == "$symbol") {
        out.append_symbol(name, inner.text);
    } else if (kind == "$undefined") {
        out.append_undefined(name);
    } else if (kind == "$minKey") {
        out.append_min_key(name);
    } else if (kind == "$maxKey") {
        out.append_max_key(name);
    } else if (kind == "$dbPointer") {
        append_db_pointer(out, name, inner);
    } else {
        return false;
    }
    return true;
}

void append(bson::Builder& out, std::string_view name, const Value& value) {
    switch (value.kind) {
        case Value::null:
            out.append_null(name);
            return;
        case Value::boolean:
            out.append(name, value.truth);
            return;
        case Value::string:
            out.append(name, value.text);
            return;
        case Value::array: {
            bson::Builder array = out.sub_array(name);
            for (const Value::Member& member : value.members)
                append(array, array.next().view(), member.value);
            return;
        }
        case Value::object: {
            if (append_wrapped(out, name, value)) return;
            bson::Builder object = out.sub_object(name);
            append_fields(object, value);
            return;
        }
    }
}

}  // namespace

bson::Object parse_test_json(std::string_view json) {
    const Value value = Reader(json).read();
    bson::Builder out;
    append_fields(out, value);
    return out.object();
}

}  // namespace bson

#include "bson/json.h"

#include <bson/bson.h>
#include <fmt/format.h>

#include <iterator>
#include <memory>

#include "base/error.h"
#include "base/utf8.h"
#include "bson/decimal128.h"

namespace bson {

namespace {

constexpr size_t kLongestString = 160;  // longer ones are cut and end in "..."
constexpr size_t kCutString = 150;
// A text of a whole document ends behind about so much: it is for errors and logs.
constexpr size_t kLongestText = 64 * 1024;

using Text = std::string;

void write_value(Text& out, const Element& e);

void write_hex(Text& out, const ObjectId& id) {
    for (const uint8_t b : id.bytes)
        fmt::format_to(std::back_inserter(out), "{:02x}", b);
}

// A whole double keeps a ".0" to tell it from an integer; so does, by accident, an infinite one.
void write_double(Text& out, double v) {
    const std::string text = fmt::format("{:.16g}", v);
    out += text;
    if (text.find('.') == Text::npos) out += ".0";
}

void write_string(Text& out, std::string_view s) {
    const bool whole = s.size() <= kLongestString;
    out += '"';
    out += whole ? s : base::utf8_front(s, kCutString);
    if (!whole) out += "...";
    out += '"';
}

enum class Names { shown, blank, left_out };

void write_doc(Text& out, Doc doc, Names names) {
    const bool array = names == Names::left_out;
    if (doc.empty()) {
        out += array ? "[]" : "{}";
        return;
    }
    out += array ? "[ " : "{ ";
    bool first = true;
    for (const Element& e : doc) {
        if (!first) out += ", ";
        first = false;
        if (out.size() > kLongestText) {
            out += "...";
            break;
        }
        if (names == Names::shown) out += e.name();
        if (!array) out += ": ";
        write_value(out, e);
    }
    out += array ? " ]" : " }";
}

void write_value(Text& out, const Element& e) {
    const auto put = [&out](auto... args) { fmt::format_to(std::back_inserter(out), args...); };
    switch (e.type()) {
        case Type::eoo:
            out += "EOO";
            return;
        case Type::min_key:
            out += "MinKey";
            return;
        case Type::max_key:
            out += "MaxKey";
            return;
        case Type::null:
            out += "null";
            return;
        case Type::undefined:
            out += "undefined";
            return;
        case Type::boolean:
            out += e.as_bool() ? "true" : "false";
            return;
        case Type::number_double:
            return write_double(out, e.as_double());
        case Type::int32:
            return put(FMT_STRING("{}"), e.as_int32());
        case Type::int64:
            return put(FMT_STRING("{}"), e.as_int64());
        case Type::decimal128:
            return put(FMT_STRING("NumberDecimal('{}')"), decimal128_text(e.value()));
        case Type::string:
        case Type::symbol:
            return write_string(out, e.as_string());
        case Type::code:
            out += e.as_string().substr(0, kLongestText);
            return;
        case Type::object:
            return write_doc(out, e.as_doc(), Names::shown);
        case Type::array:
            return write_doc(out, e.as_doc(), Names::left_out);
        case Type::binary:
            out += "BinData";
            return;
        case Type::object_id:
            out += "ObjectId('";
            write_hex(out, e.as_object_id());
            out += "')";
            return;
        case Type::date:
            return put(FMT_STRING("new Date({})"), e.as_date());
        case Type::timestamp:  // the seconds are shown as milliseconds
            return put(FMT_STRING("Timestamp {}|{}"), (e.as_timestamp() >> 32) * 1000,
                       e.as_timestamp() & 0xffffffff);
        case Type::regex:
            return put(FMT_STRING("/{}/{}"), e.regex_pattern(), e.regex_flags());
        case Type::db_pointer: {
            put(FMT_STRING("DBRef('{}', "), e.as_string());
            write_hex(out, load<ObjectId>(e.value() + 4 + load<int32_t>(e.value())));
            out += ')';
            return;
        }
        case Type::code_with_scope:
            put(FMT_STRING("CodeWScope( {}, "), e.code_text());
            write_doc(out, e.code_scope(), Names::shown);
            out += ')';
            return;
    }
}

// Owns a document that libbson allocated.
class Parsed {
  public:
    explicit Parsed(bson_t* parsed) : parsed_(parsed) {}
    ~Parsed() {
        if (parsed_ != nullptr) bson_destroy(parsed_);
    }
    Parsed(const Parsed&) = delete;
    Parsed& operator=(const Parsed&) = delete;
    const bson_t* get() const { return parsed_; }

  private:
    bson_t* parsed_;
};

// Readers stop at 100 levels, and libbson cuts what is deeper than 200 without a word.
constexpr int kJsonLevelsMax = 90;

bool nests_deeper(Doc doc, int levels) {
    for (const Element& e : doc) {
        const bool scope = e.type() == Type::code_with_scope;
        if (!e.is_object() && e.type() != Type::array && !scope) continue;
        if (levels == 0 || nests_deeper(scope ? e.code_scope() : e.as_doc(), levels - 1))
            return true;
    }
    return false;
}

struct FreeText {
    void operator()(char* text) const { bson_free(text); }
};

}  // namespace

std::string to_text(Doc doc) {
    Text out;
    write_doc(out, doc, Names::shown);
    return out;
}

std::string to_text(const Element& value) {
    Text out;
    write_value(out, value);
    return out;
}

std::string key_to_text(Doc key) {
    Text out;
    write_doc(out, key, Names::blank);
    return out;
}

std::string to_json(Doc doc) {
    bson_t view;
    std::unique_ptr<char, FreeText> text;
    if (!nests_deeper(doc, kJsonLevelsMax) &&
        bson_init_static(&view, doc.data(), static_cast<size_t>(doc.size())))
        text.reset(bson_as_canonical_extended_json(&view, nullptr));
    if (text == nullptr)
        base::fail(base::kInvalidBSON, "a document of {} bytes has no JSON form", doc.size());
    return text.get();
}

Object from_json(std::string_view json) {
    bson_error_t error;
    const Parsed parsed(bson_new_from_json(reinterpret_cast<const uint8_t*>(json.data()),
                                           static_cast<ssize_t>(json.size()), &error));
    if (parsed.get() == nullptr) base::fail(base::kFailedToParse, "bad JSON: {}", error.message);
    return Object(Doc(bson_get_data(parsed.get())));
}

}  // namespace bson

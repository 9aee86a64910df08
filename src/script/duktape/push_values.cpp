#include <algorithm>
#include <charconv>
#include <cmath>

#include "script/duktape/heap.h"
#include "script/duktape/values.h"

namespace script {

namespace {

using bson::Type;

constexpr int kDepthMax = 300;
constexpr char32_t kReplacement = 0xfffd;

// Takes a code point from the front of UTF-8.
char32_t take_code_point(std::string_view& text) {
    const auto first = static_cast<uint8_t>(text[0]);
    const int more = first < 0x80   ? 0
                     : first < 0xc2 ? -1
                     : first < 0xe0 ? 1
                     : first < 0xf0 ? 2
                     : first < 0xf5 ? 3
                                    : -1;
    if (more <= 0) {
        text.remove_prefix(1);
        return more == 0 ? first : kReplacement;
    }
    char32_t point = first & (0x3f >> more);
    for (int i = 1; i <= more; ++i) {
        if (static_cast<size_t>(i) >= text.size() ||
            (static_cast<uint8_t>(text[static_cast<size_t>(i)]) & 0xc0) != 0x80) {
            text.remove_prefix(1);
            return kReplacement;
        }
        point = point << 6 | (static_cast<uint8_t>(text[static_cast<size_t>(i)]) & 0x3f);
    }
    text.remove_prefix(static_cast<size_t>(more) + 1);
    const bool surrogate = point >= 0xd800 && point < 0xe000;
    const bool too_long = (more == 2 && point < 0x800) || (more == 3 && point < 0x10000);
    return surrogate || too_long || point > 0x10ffff ? kReplacement : point;
}

// As the engine stores it: a code point of three bytes at most, also half of a pair.
void append_stored(std::string& out, char32_t point) {
    if (point < 0x80) {
        out.push_back(static_cast<char>(point));
    } else if (point < 0x800) {
        out.push_back(static_cast<char>(0xc0 | point >> 6));
        out.push_back(static_cast<char>(0x80 | (point & 0x3f)));
    } else {
        out.push_back(static_cast<char>(0xe0 | point >> 12));
        out.push_back(static_cast<char>(0x80 | (point >> 6 & 0x3f)));
        out.push_back(static_cast<char>(0x80 | (point & 0x3f)));
    }
}

bool is_ascii(std::string_view text) {
    return std::ranges::all_of(text, [](char c) { return static_cast<signed char>(c) >= 0; });
}

// Whether objects of the engine sort the name as a number.
bool is_index(std::string_view name) {
    uint32_t number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    return error == std::errc() && end == name.data() + name.size() &&
           (name.size() == 1 || name[0] != '0');
}

// Pushes what the prelude keeps under a name.
void push_kept(duk_context* context, const char* name) {
    duk_push_heap_stash(context);
    duk_get_prop_string(context, -1, name);
    duk_remove(context, -2);
}

class Pusher {
  public:
    Pusher(duk_context* context, const uint8_t* first, duk_idx_t source)
        : context_(context), first_(first), source_(source) {}

    void push_object(const uint8_t* document, int depth) {
        if (depth > kDepthMax) fail_with(kScriptError, "a document is too deep for a script");
        duk_require_stack(context_, 12);
        duk_push_object(context_);
        bool numbered = false;
        bool reference = false;
        bool first = true;
        Fields fields(document);
        while (const Field field = fields.next()) {
            reference = reference || (first && field.name == "$ref" && field.type == Type::string);
            first = false;
            numbered = numbered || is_index(field.name);
            push_text(context_, field.name);
            push(field, depth + 1);
            duk_def_prop(context_, -3,
                         DUK_DEFPROP_HAVE_VALUE | DUK_DEFPROP_SET_WEC | DUK_DEFPROP_FORCE);
        }
        reference = reference && find_field(document, "$id");
        set_class(context_, reference ? Class::db_ref : Class::document);
        remember(document);
        if (numbered) keep_order(document);
    }

    void push(const Field& field, int depth);

  private:
    void push_array(const uint8_t* array, int depth) {
        if (depth > kDepthMax) fail_with(kScriptError, "a document is too deep for a script");
        duk_require_stack(context_, 12);
        duk_push_array(context_);
        duk_uarridx_t index = 0;
        Fields fields(array);
        while (const Field field = fields.next()) {
            push(field, depth + 1);
            duk_put_prop_index(context_, -2, index++);
        }
    }

    // Notes where the document on top was made from.
    void remember(const uint8_t* document) {
        if (source_ == DUK_INVALID_INDEX) return;
        duk_dup(context_, source_);
        duk_put_prop_literal(context_, -2, SCRIPT_HIDDEN("source"));
        duk_push_number(context_, static_cast<double>(document - first_));
        duk_put_prop_literal(context_, -2, SCRIPT_HIDDEN("at"));
    }

    // Puts an object in front of the one on top that has its fields in their order.
    void keep_order(const uint8_t* document) {
        duk_push_heap_stash(context_);
        duk_get_prop_literal(context_, -1, "ordered");
        duk_dup(context_, -3);
        duk_push_array(context_);
        duk_uarridx_t index = 0;
        Fields fields(document);
        while (const Field field = fields.next()) {
            push_text(context_, field.name);
            duk_put_prop_index(context_, -2, index++);
        }
        duk_call(context_, 2);
        duk_replace(context_, -3);
        duk_pop(context_);
    }

    void push_regex(const Field& field);
    void push_binary(const Field& field);

    duk_context* const context_;
    const uint8_t* const first_;
    const duk_idx_t source_;
};

void Pusher::push_regex(const Field& field) {
    const std::string_view pattern(reinterpret_cast<const char*>(field.value));
    const std::string_view flags(reinterpret_cast<const char*>(field.value) + pattern.size() + 1);
    if (flags.find_first_not_of("gim") != std::string_view::npos)
        fail_with(Heap::current().flags_code(), "a script's expressions have the flags g, i, m");
    push_kept(context_, "RegExp");
    push_text(context_, pattern);
    push_text(context_, flags);
    duk_new(context_, 2);
}

void Pusher::push_binary(const Field& field) {
    const auto size = static_cast<size_t>(load<int32_t>(field.value));
    duk_push_object(context_);
    duk_push_number(context_, static_cast<double>(size));
    duk_put_prop_literal(context_, -2, "len");
    duk_push_int(context_, field.value[4]);
    duk_put_prop_literal(context_, -2, "type");
    void* const bytes = duk_push_fixed_buffer(context_, size);
    if (size > 0) std::memcpy(bytes, field.value + 5, size);
    duk_put_prop_literal(context_, -2, SCRIPT_HIDDEN("bytes"));
    set_class(context_, Class::bin_data);
}

void push_object_id(duk_context* context, const uint8_t* bytes) {
    constexpr char kDigits[] = "0123456789abcdef";
    char text[24];
    for (int i = 0; i < 12; ++i) {
        text[2 * i] = kDigits[bytes[i] >> 4];
        text[2 * i + 1] = kDigits[bytes[i] & 15];
    }
    duk_push_object(context);
    duk_push_lstring(context, text, sizeof text);
    duk_put_prop_literal(context, -2, "str");
    set_class(context, Class::object_id);
}

// Pushes the function of a text. What is no function becomes the value of the text.
void push_code(duk_context* context, std::string_view text) {
    push_kept(context, "evaluate");
    push_text(context, text);
    duk_call(context, 1);
}

void Pusher::push(const Field& field, int depth) {
    switch (field.type) {
        case Type::number_double:
            duk_push_number(context_, load<double>(field.value));
            break;
        case Type::string:
        case Type::symbol:
            push_text(context_, field.text());
            break;
        case Type::object:
            push_object(field.value, depth);
            break;
        case Type::array:
            push_array(field.value, depth);
            break;
        case Type::binary:
            push_binary(field);
            break;
        case Type::object_id:
            push_object_id(context_, field.value);
            break;
        case Type::boolean:
            duk_push_boolean(context_, *field.value);
            break;
        case Type::date:
            push_kept(context_, "Date");
            duk_push_number(context_, static_cast<double>(load<int64_t>(field.value)));
            duk_new(context_, 1);
            break;
        case Type::regex:
            push_regex(field);
            break;
        case Type::db_pointer: {
            duk_push_object(context_);
            push_text(context_, field.text());
            duk_put_prop_literal(context_, -2, "ns");
            push_object_id(context_, field.value + 4 + load<int32_t>(field.value));
            duk_put_prop_literal(context_, -2, "id");
            set_class(context_, Class::db_pointer);
            break;
        }
        case Type::code:
            push_code(context_, field.text());
            break;
        case Type::code_with_scope:
            push_code(context_, field.scoped_text());
            break;
        case Type::int32:
            duk_push_int(context_, load<int32_t>(field.value));
            break;
        case Type::timestamp: {
            const auto value = load<uint64_t>(field.value);
            duk_push_object(context_);
            duk_push_uint(context_, static_cast<duk_uint_t>(value >> 32));
            duk_put_prop_literal(context_, -2, "t");
            duk_push_uint(context_, static_cast<duk_uint_t>(value));
            duk_put_prop_literal(context_, -2, "i");
            set_class(context_, Class::timestamp);
            break;
        }
        case Type::int64:
            push_long(context_, load<int64_t>(field.value));
            break;
        case Type::decimal128: {
            duk_push_object(context_);
            std::memcpy(duk_push_fixed_buffer(context_, 16), field.value, 16);
            duk_put_prop_literal(context_, -2, SCRIPT_HIDDEN("bytes"));
            set_class(context_, Class::number_decimal);
            break;
        }
        case Type::min_key:
            push_kept(context_, "MinKey");
            break;
        case Type::max_key:
            push_kept(context_, "MaxKey");
            break;
        default:
            duk_push_null(context_);
    }
}

}  // namespace

void push_text(duk_context* context, std::string_view utf8) {
    if (is_ascii(utf8)) {
        duk_push_lstring(context, utf8.data(), utf8.size());
        return;
    }
    std::string stored;
    stored.reserve(utf8.size());
    while (!utf8.empty()) {
        const char32_t point = take_code_point(utf8);
        if (point < 0x10000) {
            append_stored(stored, point);
        } else {
            append_stored(stored, 0xd800 + ((point - 0x10000) >> 10));
            append_stored(stored, 0xdc00 + ((point - 0x10000) & 0x3ff));
        }
    }
    duk_push_lstring(context, stored.data(), stored.size());
}

void push_document(duk_context* context, const uint8_t* document, bool kept) {
    duk_require_stack(context, 12);
    if (!kept) {
        Pusher(context, document, DUK_INVALID_INDEX).push_object(document, 0);
        return;
    }
    const auto size = static_cast<size_t>(load<int32_t>(document));
    std::memcpy(duk_push_fixed_buffer(context, size), document, size);
    const duk_idx_t source = duk_get_top_index(context);
    Pusher(context, document, source).push_object(document, 0);
    duk_remove(context, source);
}

void push_value(duk_context* context, const Field& field) {
    duk_require_stack(context, 12);
    if (field.type == Type::object) {
        push_document(context, field.value, true);
    } else if (field.type == Type::array) {
        const auto size = static_cast<size_t>(load<int32_t>(field.value));
        std::memcpy(duk_push_fixed_buffer(context, size), field.value, size);
        const duk_idx_t source = duk_get_top_index(context);
        Pusher(context, field.value, source).push(field, 0);
        duk_remove(context, source);
    } else {
        Pusher(context, field.value, DUK_INVALID_INDEX).push(field, 0);
    }
}

void push_long(duk_context* context, int64_t value) {
    constexpr int64_t kExactMax = int64_t{1} << 53;
    duk_push_object(context);
    duk_push_number(context, static_cast<double>(value));
    duk_put_prop_literal(context, -2, "floatApprox");
    if (value < 0 || value >= kExactMax) {
        duk_push_int(context, static_cast<duk_int_t>(value >> 32));
        duk_put_prop_literal(context, -2, "top");
        duk_push_int(context, static_cast<duk_int_t>(static_cast<int32_t>(value)));
        duk_put_prop_literal(context, -2, "bottom");
    }
    set_class(context, Class::number_long);
}

void set_class(duk_context* context, Class name) {
    duk_push_heap_stash(context);
    duk_get_prop_literal(context, -1, "classes");
    duk_get_prop_index(context, -1, static_cast<duk_uarridx_t>(name));
    duk_set_prototype(context, -4);
    duk_pop_2(context);
}

}  // namespace script

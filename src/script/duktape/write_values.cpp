#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "script/duktape/heap.h"
#include "script/duktape/values.h"

namespace script {

namespace {

using bson::Type;

constexpr int kDepthMax = 150;
constexpr size_t kBytesMax = size_t{32} * 1024 * 1024;

// An object is one of these kinds beside those of Class.
bool is_of(duk_context* context, duk_idx_t index, const char* constructor) {
    duk_push_heap_stash(context);
    duk_get_prop_string(context, -1, constructor);
    const duk_idx_t at = duk_normalize_index(context, index < 0 ? index - 2 : index);
    const bool is = duk_instanceof(context, at, -1) != 0;
    duk_pop_2(context);
    return is;
}

double number_of(duk_context* context, duk_idx_t index, const char* name) {
    duk_get_prop_string(context, index, name);
    const double value = duk_to_number(context, -1);
    duk_pop(context);
    return value;
}

// What a script says is any number.
int64_t whole_of(double value) {
    constexpr double kBeyond = 9223372036854775808.0;
    if (std::isnan(value)) return 0;
    if (value >= kBeyond) return INT64_MAX;
    return value < -kBeyond ? INT64_MIN : static_cast<int64_t>(value);
}

bool is_int32(double value) {
    return value >= INT32_MIN && value <= INT32_MAX && std::floor(value) == value &&
           !(value == 0 && std::signbit(value));
}

uint8_t digit(char c) {
    if (c >= '0' && c <= '9') return static_cast<uint8_t>(c - '0');
    return static_cast<uint8_t>((c | 0x20) - 'a' + 10);
}

class ValueWriter {
  public:
    ValueWriter(duk_context* context, Writer& out) : context_(context), out_(out) {}

    void write(std::string_view name, duk_idx_t index, const Field& before, int depth);
    void write_fields(duk_idx_t index, int depth);
    // `before`: the array that it was made from, if its numbers keep their types; else null.
    void write_array(duk_idx_t index, int depth, const uint8_t* before);

  private:
    void write_all(duk_idx_t index, const uint8_t* source, int depth, bool as_it_was);
    bool write_of_class(std::string_view name, duk_idx_t index);
    void write_object(std::string_view name, duk_idx_t index, const Field& before, int depth);
    void write_object_id(duk_idx_t index);
    void write_binary(duk_idx_t index);
    void write_regex(std::string_view name, duk_idx_t index);
    void check(int depth) {
        if (depth > kDepthMax) fail_with(17279, "an object is nested too deeply, or in itself");
        Heap::current().spend(1);
        if (out_.bytes().size() > kBytesMax) fail_with(10334, "an object is too large");
    }
    // The document that an object was made from; null: none.
    const uint8_t* source_of(duk_idx_t index);
    void copy(std::string_view name, const Field& field) {
        out_.field(field.type, name);
        out_.raw({reinterpret_cast<const char*>(field.value), field.value_size()});
    }

    duk_context* const context_;
    Writer& out_;
    // An object around this one is being compared with its source: each object in it that decided
    // for itself would be written twice as often as the one around it.
    bool is_trial_ = false;
};

const uint8_t* ValueWriter::source_of(duk_idx_t index) {
    const uint8_t* found = nullptr;
    if (duk_get_prop_literal(context_, index, SCRIPT_HIDDEN("source"))) {
        duk_get_prop_literal(context_, index < 0 ? index - 1 : index, SCRIPT_HIDDEN("at"));
        found = static_cast<const uint8_t*>(duk_get_buffer(context_, -2, nullptr));
        if (found != nullptr) found += static_cast<size_t>(duk_get_number(context_, -1));
        duk_pop(context_);
    }
    duk_pop(context_);
    return found;
}

void ValueWriter::write_fields(duk_idx_t index, int depth) {
    check(depth);
    index = duk_normalize_index(context_, index);
    duk_require_stack(context_, 16);
    const uint8_t* const source = source_of(index);
    const size_t start = out_.bytes().size();
    const bool decides = source != nullptr && !is_trial_;
    is_trial_ = is_trial_ || decides;
    write_all(index, source, depth, true);
    if (!decides) return;
    is_trial_ = false;
    // The numbers of arrays have their old types only where the object is left as it was.
    const std::string_view written = std::string_view(out_.bytes()).substr(start);
    const auto size = static_cast<size_t>(load<int32_t>(source));
    if (written.size() == size && std::memcmp(written.data(), source, size) == 0) return;
    out_.bytes().resize(start);
    write_all(index, source, depth, false);
}

void ValueWriter::write_all(duk_idx_t index, const uint8_t* source, int depth, bool as_it_was) {
    constexpr uint8_t kNone[] = {5, 0, 0, 0, 0};
    Fields fields(source != nullptr ? source : kNone);
    const size_t start = out_.begin();
    duk_enum(context_, index, DUK_ENUM_OWN_PROPERTIES_ONLY);
    while (duk_next(context_, -1, 0)) {
        const std::string name = text_at(context_, -1);
        if (name.find('\0') != std::string::npos)
            duk_error(context_, DUK_ERR_ERROR, "a field's name has a NUL");
        // The order is mostly that of the source.
        Field before = source != nullptr ? fields.next() : Field();
        if (source != nullptr && before.name != name) before = find_field(source, name);
        if (before.type == Type::array && !as_it_was) before = Field();
        duk_get_prop(context_, index);
        write(name, -1, before, depth);
        duk_pop(context_);
    }
    duk_pop(context_);
    out_.end(start);
}

void ValueWriter::write_array(duk_idx_t index, int depth, const uint8_t* before) {
    check(depth);
    index = duk_normalize_index(context_, index);
    duk_require_stack(context_, 16);
    const auto length = static_cast<duk_uarridx_t>(duk_get_length(context_, index));
    const size_t start = out_.begin();
    constexpr uint8_t kNone[] = {5, 0, 0, 0, 0};
    Fields fields(before != nullptr ? before : kNone);
    int written = 0;
    for (duk_uarridx_t i = 0; i < length; ++i) {
        check(depth);
        const Field element = fields.next();
        if (duk_get_prop_index(context_, index, i))
            write(std::to_string(written++), -1, element, depth);
        duk_pop(context_);
    }
    out_.end(start);
}

void ValueWriter::write_object_id(duk_idx_t index) {
    duk_get_prop_literal(context_, index, "str");
    const std::string text = text_at(context_, -1);
    duk_pop(context_);
    if (text.size() != 24 || text.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos)
        duk_error(context_, DUK_ERR_ERROR, "an ObjectId has 24 hexadecimal digits");
    for (size_t i = 0; i < text.size(); i += 2)
        out_.number(static_cast<uint8_t>(digit(text[i]) << 4 | digit(text[i + 1])));
}

void ValueWriter::write_binary(duk_idx_t index) {
    const double type = number_of(context_, index, "type");
    duk_get_prop_literal(context_, index, SCRIPT_HIDDEN("bytes"));
    duk_size_t size = 0;
    const auto* const bytes = static_cast<const char*>(duk_get_buffer(context_, -1, &size));
    out_.number(static_cast<int32_t>(size));
    out_.number(static_cast<uint8_t>(whole_of(type)));
    if (size > 0) out_.raw({bytes, size});
    duk_pop(context_);
}

bool ValueWriter::write_of_class(std::string_view name, duk_idx_t index) {
    switch (class_of(context_, index)) {
        case Class::number_long:
            out_.field(Type::int64, name);
            out_.number(long_at(context_, index));
            return true;
        case Class::number_int: {
            duk_get_prop_literal(context_, index, SCRIPT_HIDDEN("value"));
            out_.field(Type::int32, name);
            out_.number(static_cast<int32_t>(whole_of(duk_get_number_default(context_, -1, 0))));
            duk_pop(context_);
            return true;
        }
        case Class::object_id:
            out_.field(Type::object_id, name);
            write_object_id(index);
            return true;
        case Class::bin_data:
            out_.field(Type::binary, name);
            write_binary(index);
            return true;
        case Class::timestamp: {
            const auto seconds = static_cast<uint64_t>(whole_of(number_of(context_, index, "t")));
            const auto more = static_cast<uint64_t>(whole_of(number_of(context_, index, "i")));
            out_.field(Type::timestamp, name);
            out_.number(seconds << 32 | (more & 0xffffffff));
            return true;
        }
        case Class::min_key:
            out_.field(Type::min_key, name);
            return true;
        case Class::max_key:
            out_.field(Type::max_key, name);
            return true;
        case Class::db_pointer: {
            duk_get_prop_literal(context_, index, "ns");
            out_.field(Type::db_pointer, name);
            out_.text(text_at(context_, -1));
            duk_pop(context_);
            duk_get_prop_literal(context_, index, "id");
            if (class_of(context_, -1) != Class::object_id)
                duk_error(context_, DUK_ERR_ERROR, "the id of a DBPointer is an ObjectId");
            write_object_id(-1);
            duk_pop(context_);
            return true;
        }
        case Class::number_decimal: {
            duk_get_prop_literal(context_, index, SCRIPT_HIDDEN("bytes"));
            duk_size_t size = 0;
            const auto* const bytes = static_cast<const char*>(duk_get_buffer(context_, -1, &size));
            if (size != 16) duk_error(context_, DUK_ERR_ERROR, "this is no NumberDecimal");
            out_.field(Type::decimal128, name);
            out_.raw({bytes, size});
            duk_pop(context_);
            return true;
        }
        default:
            return false;
    }
}

void ValueWriter::write_regex(std::string_view name, duk_idx_t index) {
    out_.field(Type::regex, name);
    for (const char* part : {"source", "flags"}) {
        duk_get_prop_string(context_, index, part);
        const std::string text = text_at(context_, -1);
        out_.raw(text.substr(0, text.find('\0')));
        out_.number('\0');
        duk_pop(context_);
    }
}

void ValueWriter::write_object(std::string_view name, duk_idx_t index, const Field& before,
                               int depth) {
    index = duk_normalize_index(context_, index);
    if (duk_is_function(context_, index)) {
        if (before.type == Type::code || before.type == Type::code_with_scope) {
            copy(name, before);
            return;
        }
        duk_push_heap_stash(context_);
        duk_get_prop_literal(context_, -1, "source");
        duk_dup(context_, index);
        duk_call(context_, 1);
        out_.field(Type::code, name);
        out_.text(text_at(context_, -1));
        duk_pop_2(context_);
    } else if (duk_is_array(context_, index)) {
        out_.field(Type::array, name);
        write_array(index, depth + 1, before.type == Type::array ? before.value : nullptr);
    } else if (is_of(context_, index, "Date")) {
        duk_push_heap_stash(context_);
        duk_get_prop_literal(context_, -1, "getTime");
        duk_dup(context_, index);
        duk_call(context_, 1);
        const double time = duk_to_number(context_, -1);
        duk_pop_2(context_);
        out_.field(Type::date, name);
        out_.number(whole_of(time));
    } else if (is_of(context_, index, "RegExp")) {
        write_regex(name, index);
    } else if (!write_of_class(name, index)) {
        out_.field(Type::object, name);
        write_fields(index, depth + 1);
    }
}

void ValueWriter::write(std::string_view name, duk_idx_t index, const Field& before, int depth) {
    switch (duk_get_type(context_, index)) {
        case DUK_TYPE_NULL:
            out_.field(before.type == Type::undefined ? Type::undefined : Type::null, name);
            break;
        case DUK_TYPE_BOOLEAN:
            out_.field(Type::boolean, name);
            out_.number(static_cast<uint8_t>(duk_get_boolean(context_, index)));
            break;
        case DUK_TYPE_NUMBER: {
            const double value = duk_get_number(context_, index);
            if (before.type == Type::int32 && is_int32(value)) {
                out_.field(Type::int32, name);
                out_.number(static_cast<int32_t>(value));
                break;
            }
            out_.field(Type::number_double, name);
            out_.number(value);
            break;
        }
        case DUK_TYPE_STRING: {
            const std::string text = text_at(context_, index);
            out_.field(
                before.type == Type::symbol && before.text() == text ? Type::symbol : Type::string,
                name);
            out_.text(text);
            break;
        }
        case DUK_TYPE_OBJECT:
        case DUK_TYPE_LIGHTFUNC:
            write_object(name, index, before, depth);
            break;
        default:
            out_.field(Type::undefined, name);
    }
    check(depth);
}

}  // namespace

std::string text_at(duk_context* context, duk_idx_t index) {
    duk_size_t size = 0;
    duk_dup(context, index);
    const char* const bytes = duk_to_lstring(context, -1, &size);
    std::string text;
    text.reserve(size);
    for (size_t i = 0; i < size; ++i) {
        const auto c = static_cast<uint8_t>(bytes[i]);
        // Half of a pair has three bytes that begin with ED A0 to ED BF.
        if (c != 0xed || i + 2 >= size || static_cast<uint8_t>(bytes[i + 1]) < 0xa0) {
            text.push_back(bytes[i]);
            continue;
        }
        const auto half = [&](size_t at) {
            return static_cast<char32_t>((static_cast<uint8_t>(bytes[at + 1]) & 0x3f) << 6 |
                                         (static_cast<uint8_t>(bytes[at + 2]) & 0x3f));
        };
        if (half(i) < 0xc00 && i + 5 < size && static_cast<uint8_t>(bytes[i + 3]) == 0xed &&
            static_cast<uint8_t>(bytes[i + 4]) >= 0xb0) {
            const char32_t point = 0x10000 + ((half(i) & 0x3ff) << 10 | (half(i + 3) & 0x3ff));
            text.push_back(static_cast<char>(0xf0 | point >> 18));
            text.push_back(static_cast<char>(0x80 | (point >> 12 & 0x3f)));
            text.push_back(static_cast<char>(0x80 | (point >> 6 & 0x3f)));
            text.push_back(static_cast<char>(0x80 | (point & 0x3f)));
            i += 5;
        } else {
            text += "\xef\xbf\xbd";
            i += 2;
        }
    }
    duk_pop(context);
    return text;
}

Class class_of(duk_context* context, duk_idx_t index) {
    if (!duk_is_object(context, index)) return Class::none;
    duk_get_prop_literal(context, index, SCRIPT_HIDDEN("class"));
    const auto found = static_cast<Class>(duk_get_int_default(context, -1, 0));
    duk_pop(context);
    return found;
}

int64_t long_at(duk_context* context, duk_idx_t index) {
    index = duk_normalize_index(context, index);
    int64_t value = 0;
    if (duk_get_prop_literal(context, index, "top")) {
        const double high = duk_to_number(context, -1);
        const double low = number_of(context, index, "bottom");
        value = static_cast<int64_t>(static_cast<uint64_t>(whole_of(high)) << 32 |
                                     (static_cast<uint64_t>(whole_of(low)) & 0xffffffff));
    } else {
        value = whole_of(number_of(context, index, "floatApprox"));
    }
    duk_pop(context);
    return value;
}

void write_value(duk_context* context, Writer& out, std::string_view name, duk_idx_t index,
                 Top top) {
    index = duk_normalize_index(context, index);
    ValueWriter writer(context, out);
    const bool plain = duk_is_object(context, index) && !duk_is_function(context, index) &&
                       !duk_is_array(context, index) && !is_of(context, index, "Date");
    if (top == Top::fields && duk_is_undefined(context, index)) {
        out.field(Type::null, name);
    } else if (top == Top::fields && plain) {
        out.field(Type::object, name);
        writer.write_fields(index, 1);
    } else {
        writer.write(name, index, Field(), 0);
    }
}

void write_document(duk_context* context, Writer& out, duk_idx_t index) {
    ValueWriter(context, out).write_fields(index, 0);
}

}  // namespace script

#include "script/duktape/natives.h"

#include <poll.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>

#include "script/duktape/heap.h"
#include "script/duktape/values.h"

namespace script {

namespace {

constexpr const char* kReach = SCRIPT_HIDDEN("reach");

Reach& reach_of(duk_context* context) {
    duk_push_current_function(context);
    duk_get_prop_string(context, -1, kReach);
    auto* const reach = static_cast<Reach*>(duk_get_pointer(context, -1));
    duk_pop_2(context);
    return *reach;
}

// Does what calls the server: what that throws ends the script.
template <typename Call>
auto outside(Call call) {
    try {
        return call();
    } catch (const duk_fatal_exception&) {
        throw;
    } catch (const std::exception&) {
        Heap::current().end();
    }
}

const uint8_t* data_of(const Writer& writer) {
    return reinterpret_cast<const uint8_t*>(const_cast<Writer&>(writer).bytes().data());
}

// native.register(prototype, number): objects that inherit from it are of that class.
duk_ret_t register_class(duk_context* context) {
    duk_push_heap_stash(context);
    if (!duk_get_prop_literal(context, -1, "classes")) {
        duk_pop(context);
        duk_push_array(context);
        duk_dup_top(context);
        duk_put_prop_literal(context, -3, "classes");
    }
    duk_dup(context, 0);
    duk_put_prop_index(context, -2, duk_require_uint(context, 1));
    duk_push_uint(context, duk_require_uint(context, 1));
    duk_put_prop_literal(context, 0, SCRIPT_HIDDEN("class"));
    return 0;
}

// native.keep(name, value): values that this file and values.h find by name.
duk_ret_t keep(duk_context* context) {
    duk_push_heap_stash(context);
    duk_dup(context, 0);
    duk_dup(context, 1);
    duk_put_prop(context, -3);
    return 0;
}

duk_ret_t class_number(duk_context* context) {
    duk_push_int(context, static_cast<duk_int_t>(class_of(context, 0)));
    return 1;
}

// native.hide(object, number), native.hidden(object): the value of a NumberInt.
duk_ret_t hide(duk_context* context) {
    duk_dup(context, 1);
    duk_put_prop_literal(context, 0, SCRIPT_HIDDEN("value"));
    return 0;
}
duk_ret_t hidden(duk_context* context) {
    duk_get_prop_literal(context, 0, SCRIPT_HIDDEN("value"));
    return 1;
}

// native.long(text): a NumberLong.
duk_ret_t make_long(duk_context* context) {
    const std::string text = text_at(context, 0);
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size())
        duk_error(context, DUK_ERR_ERROR, "this is no number of 64 bits: %s", text.c_str());
    push_long(context, value);
    return 1;
}
duk_ret_t digits_of_long(duk_context* context) {
    push_text(context, std::to_string(long_at(context, 0)));
    return 1;
}

constexpr std::string_view kBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// native.decode(object, base64): the bytes of a BinData; returns how many.
duk_ret_t decode(duk_context* context) {
    std::string text = text_at(context, 1);
    if (text.size() % 4 != 0) duk_error(context, DUK_ERR_ERROR, "this is no base64 text");
    size_t padded = 0;
    while (!text.empty() && text.back() == '=' && padded < 2) {
        text.pop_back();
        ++padded;
    }
    std::string bytes;
    uint32_t bits = 0;
    int count = 0;
    for (const char c : text) {
        const size_t value = kBase64.find(c);
        if (value == std::string_view::npos)
            duk_error(context, DUK_ERR_ERROR, "this is no base64 text");
        bits = bits << 6 | static_cast<uint32_t>(value);
        if ((count += 6) < 8) continue;
        count -= 8;
        bytes.push_back(static_cast<char>(bits >> count));
    }
    void* const to = duk_push_fixed_buffer(context, bytes.size());
    if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
    duk_put_prop_literal(context, 0, SCRIPT_HIDDEN("bytes"));
    duk_push_number(context, static_cast<double>(bytes.size()));
    return 1;
}

// native.encode(object, base): the bytes of a BinData as text, base 64 or 16.
duk_ret_t encode(duk_context* context) {
    duk_get_prop_literal(context, 0, SCRIPT_HIDDEN("bytes"));
    duk_size_t size = 0;
    const auto* const bytes = static_cast<const uint8_t*>(duk_get_buffer(context, -1, &size));
    std::string text;
    if (duk_get_int(context, 1) == 16) {
        for (size_t i = 0; i < size; ++i) {
            text.push_back("0123456789abcdef"[bytes[i] >> 4]);
            text.push_back("0123456789abcdef"[bytes[i] & 15]);
        }
    } else {
        for (size_t i = 0; i < size; i += 3) {
            const size_t there = size - i < 3 ? size - i : 3;
            uint32_t bits = static_cast<uint32_t>(bytes[i]) << 16;
            if (there > 1) bits |= static_cast<uint32_t>(bytes[i + 1]) << 8;
            if (there > 2) bits |= bytes[i + 2];
            for (size_t k = 0; k < 4; ++k)
                text.push_back(k <= there ? kBase64[bits >> (18 - 6 * k) & 63] : '=');
        }
    }
    push_text(context, text);
    return 1;
}

duk_ret_t md5(duk_context* context) {
    if (!duk_is_string(context, 0)) duk_error(context, DUK_ERR_ERROR, "hex_md5 takes a string");
    const std::string text = text_at(context, 0);
    push_text(context, outside([&] { return Heap::current().host().md5(text); }));
    return 1;
}

void require_document(duk_context* context, duk_idx_t index) {
    if (!duk_is_object(context, index) || duk_is_function(context, index))
        duk_error(context, DUK_ERR_ERROR, "this is no object");
}

duk_ret_t size_of(duk_context* context) {
    require_document(context, 0);
    Writer out;
    write_document(context, out, 0);
    duk_push_number(context, static_cast<double>(out.bytes().size()));
    return 1;
}

// native.compare(a, b): the order of two documents as that of their types, or -1, 0, 1.
duk_ret_t compare(duk_context* context) {
    require_document(context, 0);
    require_document(context, 1);
    Writer a;
    Writer b;
    write_document(context, a, 0);
    write_document(context, b, 1);
    Fields fields_a(data_of(a));
    Fields fields_b(data_of(b));
    for (;;) {
        const Field field_a = fields_a.next();
        const Field field_b = fields_b.next();
        if (!field_a || !field_b) break;
        const int classes =
            bson::canonical_class(field_a.type) - bson::canonical_class(field_b.type);
        if (classes != 0) {
            duk_push_int(context, classes);
            return 1;
        }
        if (field_a.name != field_b.name || field_a.value_size() != field_b.value_size() ||
            std::memcmp(field_a.value, field_b.value, field_a.value_size()) != 0)
            break;
    }
    duk_push_int(context,
                 outside([&] { return Heap::current().host().compare(data_of(a), data_of(b)); }));
    return 1;
}

// native.run(database, command): the reply.
duk_ret_t run(duk_context* context) {
    Reach& reach = reach_of(context);
    if (reach.database == nullptr)
        duk_error(context, DUK_ERR_ERROR, "there is no db in this script");
    require_document(context, 1);
    const std::string database = text_at(context, 0);
    Writer command;
    write_document(context, command, 1);
    const std::string reply =
        outside([&] { return reach.database->run(database, data_of(command)); });
    Heap::pass_over_work();
    push_document(context, reinterpret_cast<const uint8_t*>(reply.data()), true);
    return 1;
}

duk_ret_t print(duk_context* context) {
    const std::string text = text_at(context, 0);
    outside([&] { Heap::current().host().log(text); });
    return 0;
}

duk_ret_t sleep(duk_context* context) {
    const double milliseconds = duk_is_number(context, 0) ? duk_get_number(context, 0) : NAN;
    if (!(milliseconds >= 0)) duk_error(context, DUK_ERR_ERROR, "sleep takes milliseconds");
    constexpr int64_t kStep = 10;
    for (double left = milliseconds; left > 0; left -= kStep) {
        ::poll(nullptr, 0, static_cast<int>(std::min(left, static_cast<double>(kStep))));
        Heap::current().spend(kStep * 10'000);
    }
    return 0;
}

// native.functionOf(number): what Context::compile() made.
duk_ret_t function_of(duk_context* context) {
    duk_push_heap_stash(context);
    duk_get_prop_index(context, -1, duk_require_uint(context, 0));
    return 1;
}

duk_ret_t version(duk_context* context) {
    push_text(context, Heap::current().host().version);
    return 1;
}

duk_ret_t random_bytes(duk_context* context) {
    // No secret: a part of an ObjectId.
    static std::atomic<uint32_t> state{
        static_cast<uint32_t>(std::chrono::system_clock::now().time_since_epoch().count())};
    duk_push_uint(context, state.fetch_add(2654435769u, std::memory_order_relaxed));
    return 1;
}

// A reduce function may not emit: its pairs would have to be reduced again, without an end.
void require_map(duk_context* context, const Reach& reach) {
    if (!reach.maps) duk_error(context, DUK_ERR_ERROR, "emit is for the map function only");
}

// native.requireMap(): throws unless a map function runs.
duk_ret_t require_map_now(duk_context* context) {
    require_map(context, reach_of(context));
    return 0;
}

duk_ret_t emit(duk_context* context) {
    if (duk_get_top(context) != 2)
        duk_error(context, DUK_ERR_ERROR, "emit takes a key and a value");
    Reach& reach = reach_of(context);
    if (reach.emitted == nullptr) return 0;
    require_map(context, reach);
    Writer pair;
    const size_t start = pair.begin();
    if (duk_is_undefined(context, 0)) {
        duk_push_null(context);
        duk_replace(context, 0);
    }
    write_value(context, pair, "0", 0);
    write_value(context, pair, "1", 1);
    pair.end(start);
    outside([&] { reach.emitted->take(data_of(pair)); });
    return 0;
}

struct Native {
    const char* name;
    duk_c_function function;
    duk_idx_t arguments;
};
constexpr Native kNatives[] = {
    {"register", register_class, 2},
    {"keep", keep, 2},
    {"classNumber", class_number, 1},
    {"hide", hide, 2},
    {"hidden", hidden, 1},
    {"long", make_long, 1},
    {"digits", digits_of_long, 1},
    {"decode", decode, 2},
    {"encode", encode, 2},
    {"md5", md5, 1},
    {"size", size_of, 1},
    {"compare", compare, 2},
    {"run", run, 2},
    {"print", print, 1},
    {"sleep", sleep, 1},
    {"functionOf", function_of, 1},
    {"requireMap", require_map_now, 0},
    {"version", version, 0},
    {"random", random_bytes, 0},
};

void push_native(duk_context* context, const Native& native, Reach* reach) {
    duk_push_c_function(context, native.function, native.arguments);
    duk_push_pointer(context, reach);
    duk_put_prop_string(context, -2, kReach);
}

}  // namespace

void push_natives(duk_context* context, Reach* reach) {
    duk_push_object(context);
    for (const Native& native : kNatives) {
        push_native(context, native, reach);
        duk_put_prop_string(context, -2, native.name);
    }
}

void push_emit(duk_context* context, Reach* reach) {
    push_native(context, {"emit", emit, DUK_VARARGS}, reach);
}

void fail_with(int code, const char* text) {
    outside([&] { Heap::current().host().fail(code, text); });
    throw duk_fatal_exception(text);  // it does not return
}

}  // namespace script

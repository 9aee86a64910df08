// script/duktape/values.h - documents as scripts see them, and back.
//
// A number of 32 bits is a JavaScript number, one of 64 bits an object of NumberLong; ObjectId,
// BinData, Timestamp and others are classes, too, whose prototypes are in a list under kClasses.
// Null and undefined are both null. A document becomes an object whose fields keep their order, and
// remembers what it was made from: what a script left as it was goes back with its old type, but
// for the numbers of arrays.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "script/duktape/engine.h"
#include "script/duktape/reader.h"
#include "script/duktape/writer.h"

namespace script {

// What is stored out of a script's reach begins with this byte.
#define SCRIPT_HIDDEN(name) DUK_HIDDEN_SYMBOL(name)

enum class Class : int {
    none = 0,
    number_long,
    number_int,
    object_id,
    bin_data,
    timestamp,
    min_key,
    max_key,
    db_ref,
    db_pointer,
    number_decimal,
    document,
};

// Pushes a string, whose code points above U+FFFF are two characters to a script, and whose bytes
// that are no UTF-8 are U+FFFD.
void push_text(duk_context* context, std::string_view utf8);
// The string at the index as UTF-8. Single surrogates become U+FFFD.
std::string text_at(duk_context* context, duk_idx_t index);

// Pushes the object of a document. `kept`: whether parts of it may go back.
void push_document(duk_context* context, const uint8_t* document, bool kept);
// Pushes the value of a field of such a document.
void push_value(duk_context* context, const Field& field);
void push_long(duk_context* context, int64_t value);
// Sets the prototype of the object on top.
void set_class(duk_context* context, Class name);
Class class_of(duk_context* context, duk_idx_t index);
int64_t long_at(duk_context* context, duk_idx_t index);

// How an object at the top becomes BSON: by its class, or as its fields.
enum class Top { by_class, fields };
// Writes the value at the index as a field. Throws what the engine throws.
void write_value(duk_context* context, Writer& out, std::string_view name, duk_idx_t index,
                 Top top = Top::by_class);
// Writes the object at the index as a document.
void write_document(duk_context* context, Writer& out, duk_idx_t index);

// Ends the script with an error of that code, that no script can catch.
[[noreturn]] void fail_with(int code, const char* text);

}  // namespace script

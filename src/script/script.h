// script/script.h - JavaScript of clients: what the server asks of its engine, and the engine of
// the server.
//
// A Context is a world of its own: global object, helper functions, the functions compiled in it.
// One operation has one, on one thread at a time. Documents go in and values come out as BSON, with
// the types that the scripts of a 2.6 see (script/duktape/values.h). The engine is a shared object
// of its own, loaded when the first script comes; what it needs of the server it calls through a
// Host, and what that throws ends the script at once, whatever the script would catch.
//
// A script has no file, no network and no clock but Date. Its memory is limited, and it counts
// towards its operation (sched/memory.h). Its work is ticks (sched/tick.h), so that killOp,
// maxTimeMS and the limit for one document end it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace script {

// Code of all that a script does wrong.
constexpr int kScriptError = 16722;
constexpr int kNotAllowed = 115;  // CommandNotSupported

struct Host {
    void (*fail)(int code, std::string_view text);  // throws base::Error
    void (*spend)(int64_t ticks);                   // throws what ends an operation
    void (*take)(size_t bytes);                     // throws std::bad_alloc
    void (*give_back)(size_t bytes);
    int (*compare)(const uint8_t* a, const uint8_t* b);  // two documents
    std::string (*md5)(std::string_view bytes);          // as hexadecimal digits
    void (*log)(std::string_view text);                  // what a script prints
    std::string_view version;                            // of the server
};

// The database that an eval works in. What it runs has the rights of its client.
class Database {
  public:
    virtual ~Database() = default;
    // Runs a command; returns the reply. Throws what ends the operation.
    virtual std::string run(std::string_view database, const uint8_t* command) = 0;
};

// Takes what a map function emits.
class Emitted {
  public:
    virtual ~Emitted() = default;
    // `pair`: the key and the value as the two elements of a document.
    virtual void take(const uint8_t* pair) = 0;
};

class Context {
  public:
    virtual ~Context() = default;

    // What a script becomes a function of: the text of one, or an expression or statements with a
    // return. Throws kScriptError.
    virtual int compile(std::string_view code) = 0;
    // Each field becomes a global variable.
    virtual void define(const uint8_t* document) = 0;
    // The same of one value; code that does not compile is left out.
    virtual void define_stored(std::string_view name, const uint8_t* element) = 0;
    // Gives scripts the object db.
    virtual void open_database(Database* database, std::string_view name) = 0;
    virtual void collect(Emitted* emitted) = 0;

    // Calls a function with a document as `this` and as global obj; returns the truth of what it
    // returns.
    virtual bool is_true(int function, const uint8_t* document) = 0;
    // The same without a result.
    virtual void visit(int function, const uint8_t* document) = 0;
    // How a result becomes BSON: as a field of a document does, or as what the old server had of
    // the functions of a mapReduce and an eval: objects of classes are their fields. The last one
    // has a code of its own for arguments that are no expressions.
    enum class Result { field, fields, eval };
    // Calls a function with the values of an array; returns a document with the one field "".
    virtual std::string call(int function, const uint8_t* arguments, Result result) = 0;
    // Calls one of the engine's own functions (script/duktape/prelude.h), as call() does.
    virtual std::string call_own(const char* name, const uint8_t* arguments) = 0;
};

// The shared object exports this, with C linkage, under the name of kLibrarySymbol.
struct Library {
    const char* version;  // base::kProgramVersion, of the sources that it was made from
    std::unique_ptr<Context> (*open)(const Host& host, size_t memory_max);
};
constexpr const char* kLibrarySymbol = "mongod_dur_script_library";
constexpr const char* kLibraryFile = "script.so";

// Lets scripts run, or refuses them, which is the default (option --scripting).
void allow(bool allowed);
bool is_allowed();
// Throws base::Error `code`, which says how to allow scripts, where they are not. `what`: "eval".
void refuse_unless_allowed(std::string_view what, int code = kNotAllowed);
// What contexts get of this server.
const Host& server_host();
// Returns a context. Throws base::Error 115 where scripts are not allowed or their engine is not
// installed.
std::unique_ptr<Context> open_context();

}  // namespace script

// command/registry.h - the commands by name, and what one running command has at hand.
//
// Every family of commands is one file that ends with a table of Command entries; registry.cpp
// lists the families. Names are matched exactly.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "bson/builder.h"
#include "command/write_concern.h"
#include "wire/message.h"

namespace command {

class Service;
class ClientSession;

// One command being executed. Views live as long as the received message.
struct Invocation {
    Service& service;
    ClientSession& session;
    std::string_view db;
    std::string_view name;                  // as the client wrote it
    bson::Doc body;                         // the command document
    const wire::MsgMessage* msg = nullptr;  // null: sent by OP_QUERY
    bson::Builder* reply = nullptr;         // open; `ok` is added by the dispatcher

    WriteConcern concern = {};  // from the writeConcern field; checked for commands that write

    bool started = false;  // the checks that all commands share are behind it

    // Set by the command; acted upon after it returned.
    bool records_failure = false;  // from here on a failure is news for getLastError
    bool wait_for_commit = false;  // reply after the next group commit (getLastError)
    bool skip_concern = false;     // nothing was written that the write concern could be about
    bool close = false;            // close the connection without a reply
    // Tailable cursors: nothing new yet. The message is served again after a wake-up or at the
    // deadline (the session arranges it); the reply so far is dropped.
    bool await_data = false;

    bool over_msg() const { return msg != nullptr; }
    bson::Element first() const { return body.first(); }
    // "db.coll" from the command's first value, up to a NUL in it. Throws base::Error 73 unless it
    // is a string with something in it.
    std::string ns() const;
    // The same for commands that take what is no name for a collection that does not exist: "db.".
    // Throws base::Error 10080 when the name is too long to be one.
    std::string ns_or_none() const;
    // Calls `visit` with each document of an array field, or of the sequence moved out of the body
    // under that name. Throws base::Error 9 when there is neither, or an element is no document.
    template <typename Visit>
    void each_document(std::string_view field, Visit&& visit) const;
    // How many each_document will visit; -1 if there is no such field.
    int64_t count_documents(std::string_view field) const;
};

enum CommandFlag : uint32_t {
    kAdminOnly = 1u << 0,
    kTestOnly = 1u << 1,        // only with enableTestCommands
    kLocalOnly = 1u << 2,       // only from loopback or a Unix socket
    kKeepsLastError = 1u << 3,  // getLastError and friends: does not age the last error
    kNotCounted = 1u << 5,      // not in opcounters.command (writes count as themselves)
    kRecordsFailure = 1u << 6,  // a failure is news for getLastError
};

// What `help: true` shows as lockType, and what listCommands derives from it.
enum class LockKind : int8_t { read = -1, none = 0, write = 1 };

struct Command {
    std::string_view name;
    std::string_view alias;  // second spelling, or empty
    uint32_t flags = 0;
    LockKind lock = LockKind::none;
    std::string_view help;
    void (*run)(Invocation&) = nullptr;
};

// Null if there is none (test commands are found only when enabled).
const Command* find_command(std::string_view name);
// All, in order of name.
std::span<const Command* const> all_commands();

template <typename Visit>
void Invocation::each_document(std::string_view field, Visit&& visit) const {
    if (msg != nullptr) {
        if (const wire::DocSequence* sequence = msg->sequence(field)) {
            for (const bson::Doc doc : *sequence)
                visit(doc);
            return;
        }
    }
    const bson::Element list = body[field];
    if (list.missing()) base::fail(base::kFailedToParse, "missing {} field", field);
    if (!list.is_array())
        base::fail(base::kFailedToParse, "wrong type for '{}' field, expected an array", field);
    for (const bson::Element& e : list.as_doc()) {
        if (!e.is_object())
            base::fail(base::kFailedToParse, "wrong type for '{}' field, expected documents",
                       field);
        visit(e.as_doc());
    }
}

// The families (one table per file).
std::span<const Command> handshake_commands();
std::span<const Command> diagnostic_commands();
std::span<const Command> parameter_commands();
std::span<const Command> last_error_commands();
std::span<const Command> write_commands();
std::span<const Command> find_and_modify_commands();
std::span<const Command> find_commands();
std::span<const Command> count_commands();
std::span<const Command> aggregate_commands();
std::span<const Command> explain_commands();
std::span<const Command> collection_commands();
std::span<const Command> index_commands();
std::span<const Command> database_commands();
std::span<const Command> capped_commands();
std::span<const Command> maintenance_commands();
std::span<const Command> stats_commands();
std::span<const Command> server_status_commands();
std::span<const Command> current_op_commands();
std::span<const Command> durability_commands();
std::span<const Command> test_commands();
std::span<const Command> user_commands();
std::span<const Command> refused_commands();
std::span<const Command> parallel_scan_commands();
std::span<const Command> cluster_commands();

}  // namespace command

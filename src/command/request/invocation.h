// command/request/invocation.h - one command while it runs: what the client asks, and what the
// command has at hand to answer it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "bson/builder.h"
#include "command/context/client.h"
#include "command/request/command.h"
#include "command/request/service.h"
#include "command/request/suspension.h"
#include "command/write/write_concern.h"
#include "dialect/dialect.h"
#include "oplog/retries.h"
#include "sched/tick.h"
#include "wire/message.h"

namespace command {

// Commands look for their fields one by one. None needs nearly as many.
constexpr int kFieldsMax = 10000;
[[noreturn]] void refuse_so_many_fields(std::string_view command);

// The fields of the field `cursor` of commands that answer with one.
inline constexpr Field kCursorFields[] = {{"batchSize", types::number}};

// Views live as long as the received message.
struct Invocation {
    // A constructor, since an aggregate would be zeroed with all its slots of `given`.
    Invocation(Service& its_service, Client& its_client, std::string_view its_db,
               std::string_view its_name, bson::Doc its_body,
               const wire::MsgMessage* its_msg = nullptr, bson::Builder* its_reply = nullptr)
        : service(its_service),
          client(its_client),
          db(its_db),
          name(its_name),
          body(its_body),
          msg(its_msg),
          reply(its_reply) {}

    Service& service;
    Client& client;
    std::string_view db;
    std::string_view name;        // as the client wrote it
    bson::Doc body;               // the command document
    const wire::MsgMessage* msg;  // null: sent by OP_QUERY
    bson::Builder* reply;         // open; run_command adds `ok`

    WriteConcern concern = {};  // from the writeConcern field; checked for commands that write

    std::optional<SessionId> session = {};   // from the lsid field
    std::optional<int64_t> txn_number = {};  // of the session: it may come again
    bool in_transaction = false;             // autocommit: false (retryable_write.h)
    bool starts_transaction = false;
    oplog::Retries::Turn* turn = nullptr;  // of a request with a number, while it is executed
    uint64_t after_time = 0;  // what it reads is of this time or later (cluster_time.h); 0: of any
    uint64_t told_time = 0;   // the latest that members have told its client
    ReadLevel read_level = ReadLevel::local;  // of a member of a set
    int32_t rollbacks = 0;                    // replica::Member::rollbacks() before it began
    bool secondary_ok = false;                // the client takes the answer of a secondary
    bool of_log = false;  // from the primary's log: neither rights nor the state are asked

    GivenFields given;  // those of the command's table: bind.h reads them

    bool started = false;  // the checks that all commands share are behind it

    // Set by the command; acted upon after it returned.
    bool records_failure = false;  // from here on a failure is news for getLastError
    Suspension suspension = {};    // how the request waits
    bool is_stream = false;        // of a hello: further replies may follow by themselves
    bool skip_concern = false;     // nothing was written that the write concern could be about
    bool wrote = false;            // a command that usually reads; it has checked its concern

    dialect::Dialect dialect() const { return msg != nullptr ? dialect::kToday : dialect::kV26; }
    // Commands that write call this before they do: it throws base::Error 2 where this server
    // cannot satisfy the write concern; what members of a set can do is known only afterwards
    // (members_awaited.h). If the client gives no concern, that of the set takes its place.
    void check_concern();
    // Whether it opens a change stream, or goes on with what may be one.
    bool is_of_stream() const;
    // From here on nothing ends the request: its client has to learn of what is done.
    void settle() {
        if (!settled_.scope) settled_.scope.emplace();
    }
    // Nothing is done yet: the request is served again a little later.
    void wait_for_turn();
    bson::Element first() const { return body.first(); }
    // A field of the body; missing, too, where it counts as not given.
    bson::Element field(std::string_view field_name) const {
        const bson::Element e = body[field_name];
        return is_absent(e, dialect()) ? bson::Element() : e;
    }
    // Whose the sessions are that the command names.
    const SessionOwner& session_owner() const {
        return client.access_control().enabled ? client.login().session_owner() : kNoOwner;
    }
    // The name of a collection as the client means it: by the old messages it ends at a NUL, by
    // OP_MSG one with a NUL, or that begins with a dot, is refused, base::Error 73.
    std::string_view name_in(const bson::Element& string) const;
    // "db.coll" from the command's first value. Throws base::Error 73 unless it is a string with
    // something in it.
    std::string ns() const;
    // The same for commands that by the old messages take what is no name for a collection that
    // does not exist: "db.". Throws base::Error 10080 when the name is too long to be one.
    std::string ns_or_none() const;
    // The batchSize of the field `cursor`; `default_size` where that says nothing. Throws
    // base::Error 40415, 14, 2.
    int64_t batch_size(int64_t default_size) const;
    // Calls `visit` with each document of an array field, or of the sequence moved out of the body
    // under that name. Throws base::Error 9 when there is neither, or an element is no document, by
    // OP_MSG 14.
    template <typename Visit>
    void each_document(std::string_view field, Visit&& visit) const;
    // Returns how many documents each_document will visit; -1 if there is no such field.
    int64_t count_documents(std::string_view field) const;

  private:
    // A copy, of which explain makes another command, is not settled.
    struct Settled {
        Settled() = default;
        Settled(const Settled&) {}
        Settled& operator=(const Settled&) = delete;
        std::optional<sched::Uninterruptible> scope;
    };
    Settled settled_;
};

// Returns the target of a command: its collection as a rule, or another command.
inline bson::Element target_of(const Invocation& invocation, const Command& command) {
    return command.name == "getMore" ? invocation.body["collection"] : invocation.first();
}

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
            base::fail(dialect().code(base::kFailedToParse, base::kTypeMismatch),
                       "wrong type for '{}' field, expected documents", field);
        visit(e.as_doc());
    }
}

// An error as its client knows it: by OP_MSG with today's code, where the old server had but a
// number of its own, and with today's text, where programs read it.
base::Error for_client(const Invocation& invocation, const base::Error& error);

// { ok: 0, errmsg, code, codeName } and the details of the error.
void append_error(bson::Builder& out, const base::Error& error);

}  // namespace command

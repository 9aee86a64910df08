// catalog/change_log.h - what hears of every change that this room makes to documents, collections
// and indexes: the log of writes of a replica set. Every change of data comes through here:
// commands, old messages, the removal of expired documents, $out. Therefore no change is forgotten.
//
// It hears of what can be done again: an entry stands for the change, and stands once. A rewrite
// that only this server makes of its files (compact, repair, building an index again) is no change.
//
// Rule R1: an entry and the change that it tells of are committed together. A change therefore is
// a storage::WriteUnit: prepare() says what it needs for its entry before it is admitted, and from
// its first byte to its entry nothing may commit. The log writes the entry in the same thread,
// under the same lock.
//
// A database that is dropped is the one exception, since its files go at once: the entry comes
// first. If a stop falls between the two, the log's last entry is that of a drop, which is done
// again. If the engine cannot drop it, the entry goes too.
#pragma once

#include <cstdint>
#include <string_view>

#include "bson/view.h"

namespace catalog {

class ChangeLog {
  public:
    virtual ~ChangeLog() = default;

    // Whether changes of a collection get entries. Any lock; always the same answer.
    virtual bool covers(std::string_view ns) const = 0;
    // Whether it is the collection that the log keeps its entries in: others may only read it.
    virtual bool keeps(std::string_view ns) const = 0;

    // exclusive, all that follow. Called before a change is admitted: returns the bytes of an entry
    // with documents of `entry_bytes`, and of what the log writes with it. Throws base::Error where
    // there is no room for it, now or ever; what comes after it must not fail.
    virtual int64_t prepare(int64_t entry_bytes) = 0;

    virtual void inserted(std::string_view ns, bson::Doc doc) = 0;
    // `which` names the document: {_id: ...}, or all of it where it has no _id.
    virtual void removed(std::string_view ns, bson::Doc which) = 0;
    // `form`: the document that it has become, or operators that can be applied again and again
    // (query/update/idempotent.h).
    virtual void updated(std::string_view ns, bson::Doc which, bson::Doc form) = 0;
    // The stored definition, of an index that is complete.
    virtual void index_built(std::string_view ns, bson::Doc spec) = 0;
    // A command, in the form in which a client would send it to that database. `beside`: what
    // readers of the log cannot know of it else, or null.
    virtual void command(std::string_view db, bson::Doc command, const bson::Doc* beside) = 0;
    // The last command has changed nothing: its entry goes. REQUIRES: the same hold of the lock.
    virtual void take_command_back() = 0;
};

}  // namespace catalog

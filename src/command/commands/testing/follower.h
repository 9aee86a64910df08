// command/commands/testing/follower.h - a server that does what the entries of a log say, and what
// is compared with the one that wrote them.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "catalog/names.h"
#include "command/commands/testing/service.h"
#include "oplog/apply.h"
#include "storage/contract/memory_engine.h"

namespace command {

// Every collection of every database but `local`: whether it is capped, its options, its indexes,
// and a hash of its documents, in their order where there is one.
inline std::map<std::string, std::string> contents(TestConnection& connection,
                                                   catalog::Catalog& catalog,
                                                   storage::LockManager& locks) {
    std::map<std::string, std::string> out;
    std::vector<std::string> databases;
    {
        const storage::GlobalLock lock(locks, storage::GlobalMode::R);
        databases = catalog.database_names();
    }
    for (const std::string& db : databases) {
        if (db == "local") continue;
        const bson::Object hashes = connection.run(R"({"dbHash": 1})", db);
        for (const bson::Element& e : hashes["collections"].as_doc())
            out[db + "." + std::string(e.name())] = e.as_string();
        const storage::DatabaseLock lock(locks, db, false);
        catalog::Database& open = *catalog.database(db);
        for (const std::string& ns : open.collection_names()) {
            catalog::Collection* const found = open.collection(ns);
            if (found == nullptr || catalog::is_catalogue(catalog::split(ns).collection)) continue;
            std::string& text = out[ns];
            if (found->capped()) text += " capped";
            for (const bson::Element& e : found->store().options())
                if (e.name() == "temp" || e.name() == "validator" || e.name() == "max")
                    text += " " + bson::to_text(e);
            std::vector<std::string> indexes;
            for (const auto& index : found->indexes())
                indexes.push_back(index->name + " " + bson::to_text(index->key_pattern) +
                                  (index->hidden ? " hidden " : " ") +
                                  bson::to_text(index->spec["expireAfterSeconds"]));
            std::ranges::sort(indexes);
            for (const std::string& index : indexes)
                text += "; " + index;
        }
    }
    return out;
}

// Over an engine in memory.
class Follower : public TestConnection {
  public:
    Follower() {
        context_.test_commands = true;
        open(service_, 1);
    }
    ~Follower() { session_ = nullptr; }

    // One entry, by the fields of the log (oplog/entry.h).
    void apply(char op, const std::string& ns, const bson::Object& o, const bson::Object& which) {
        SCOPED_TRACE(std::string(1, op) + " " + ns + " " + bson::to_text(o.doc()));
        bson::Builder entry;
        entry.append("op", std::string_view(&op, 1)).append("ns", ns);
        if (!which.empty()) entry.append("o2", which);
        entry.append("o", o);
        try {
            applier_.apply(entry.doc(), oplog::Manner::exact);
        } catch (const base::Error& error) {
            ADD_FAILURE() << error.code() << " " << error.what();
        }
    }
    std::map<std::string, std::string> contents() {
        return command::contents(*this, catalog_, engine_.locks());
    }

  private:
    void perform(std::string_view db, bson::Doc command) {
        const bson::Object reply =
            query(std::string(db) + ".$cmd", bson::Object(command), -1).at(0);
        if (code(reply) != 0)
            throw base::Error(code(reply), std::string(reply["errmsg"].as_string()));
    }

    storage::contract::MemoryEngine engine_{false};
    const query::FilterExpressions expressions_{query::OuterVariables()};
    catalog::Catalog catalog_{engine_, &expressions_};
    ServerContext context_;
    Service service_{catalog_, context_, all_families()};
    oplog::Applier applier_{
        catalog_, [this](std::string_view db, bson::Doc command) { perform(db, command); }};
};

}  // namespace command

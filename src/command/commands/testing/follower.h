// command/commands/testing/follower.h - a server that does what the entries of a log say, and what
// is compared with the one that wrote them.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "catalog/names.h"
#include "command/commands/testing/service.h"
#include "query/plan/executor.h"
#include "query/update/update.h"

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
        const auto [db_name, name] = catalog::split(ns);
        if (op == 'n') return;
        const bool is_system = catalog::is_system(o["create"].is_string() ? o["create"].as_string()
                                                                          : std::string_view());
        if (op == 'c' && !is_system) {
            const bson::Object reply = query(ns, o, -1).at(0);
            EXPECT_EQ(code(reply), 0) << bson::to_text(reply.doc());
            return;
        }
        const storage::DatabaseLock lock(engine_.locks(), db_name, true);
        catalog::Database& db = catalog_.get_or_create(db_name);
        if (op == 'c') {  // which clients may not make
            db.create(std::string(db_name) + "." + std::string(o["create"].as_string()),
                      bson::Doc());
            return;
        }
        const bool is_index = name == "system.indexes";
        catalog::Collection* const collection =
            db.collection(is_index ? std::string(o["ns"].as_string()) : ns);
        ASSERT_NE(collection, nullptr);
        if (is_index) {
            EXPECT_TRUE(db.create_index(*collection, o.doc()));
        } else if (op == 'i') {
            collection->insert(o.doc());
        } else if (op == 'd') {
            collection->remove(find(*collection, o));
        } else {
            update(*collection, o, which);
        }
    }
    std::map<std::string, std::string> contents() {
        return command::contents(*this, catalog_, engine_.locks());
    }

  private:
    static storage::RecordId find(catalog::Collection& collection, const bson::Object& which) {
        const storage::RecordId id = query::find_by_id(collection, which["_id"]);
        EXPECT_TRUE(id);
        return id;
    }
    static void update(catalog::Collection& collection, const bson::Object& form,
                       const bson::Object& which) {
        const storage::RecordId id = find(collection, which);
        const bson::Object before(collection.records().get(id));
        const auto update = query::Update::parse(form.doc(), {});
        bson::Buffer out;
        const query::UpdateResult result = update->apply(before.doc(), query::MatchDetails(), out);
        if (!result.changed) return;
        if (result.in_place) {
            out.append(before.doc().data(), static_cast<size_t>(before.size()));
            for (const bson::Patch& patch : result.patches)
                std::copy_n(patch.bytes, patch.size, out.data() + patch.offset);
        }
        collection.update(id, bson::Doc(out.data()));
    }

    storage::contract::MemoryEngine engine_{false};
    const query::FilterExpressions expressions_{query::OuterVariables()};
    catalog::Catalog catalog_{engine_, &expressions_};
    ServerContext context_;
    Service service_{catalog_, context_, all_families()};
};

}  // namespace command

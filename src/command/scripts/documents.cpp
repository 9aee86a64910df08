#include "command/scripts/documents.h"

#include "catalog/names.h"
#include "command/context/locks.h"
#include "command/scripts/inner_command.h"

namespace command {

namespace {

constexpr int32_t kBatch = 1000;

void end_cursor(Invocation& invocation, const catalog::Namespace& parts, int64_t id) {
    bson::Builder kill;
    kill.append("killCursors", parts.collection);
    kill.sub_array("cursors").push(id);
    run_inner_command(invocation, parts.db, kill.doc());
}

}  // namespace

void each_document(Invocation& invocation, const DocumentsAsked& asked,
                   const std::function<void(bson::Doc)>& visit) {
    const catalog::Namespace parts = catalog::split(asked.ns);
    bson::Builder find;
    find.append("find", parts.collection).append("filter", asked.query).append("batchSize", kBatch);
    if (!asked.sort.empty()) find.append("sort", asked.sort);
    if (asked.limit > 0) find.append("limit", asked.limit);
    bson::Object reply = run_inner_command_or_throw(invocation, parts.db, find.doc());
    for (std::string_view name = "firstBatch";; name = "nextBatch") {
        const bson::Doc cursor = reply["cursor"].as_doc();
        const int64_t id = cursor["id"].to_int64();
        try {
            for (const bson::Element& e : cursor[name].as_doc())
                visit(e.as_doc());
        } catch (...) {
            // The operation may be over, so that no command of its runs any more: cursors end by
            // themselves, too.
            if (id != 0) {
                try {
                    end_cursor(invocation, parts, id);
                } catch (const std::exception&) {
                }
            }
            throw;
        }
        if (id == 0) return;
        bson::Builder more;
        more.append("getMore", id)
            .append("collection", parts.collection)
            .append("batchSize", kBatch);
        reply = run_inner_command_or_throw(invocation, parts.db, more.doc());
    }
}

bool collection_exists(Invocation& invocation, std::string_view ns) {
    CollectionLock lock(invocation.client, ns, false);
    return lock.collection() != nullptr;
}

}  // namespace command

// parallelCollectionScan: cursors that share the documents of a collection among them (wire
// spec 3.2).
#include "base/dcheck.h"
#include "base/error.h"
#include "command/commands/families.h"
#include "command/cursor/query_cursors.h"
#include "command/request/invocation.h"

namespace command {

namespace {

constexpr int kWrongFieldType = 13111;
constexpr int64_t kCursorsMax = 10000;

// One cursor over everything, however many are asked for: that is allowed, and a scan is bound by
// the disk.
void run_parallel_scan(Invocation& invocation) {
    if (!invocation.first().is_string())
        base::fail(kWrongFieldType,
                   "wrong type for field (parallelCollectionScan): expected a string");
    const std::string ns = invocation.ns_or_none();
    CollectionLock lock(invocation.client, ns, false);
    if (lock.collection() == nullptr)
        base::fail(base::kNamespaceNotFound, "ns does not exist: {}", ns);
    const int64_t wanted = invocation.body["numCursors"].to_int64();
    if (wanted < 1 || wanted > kCursorsMax)
        base::fail(base::kBadValue, "numCursors has to be between 1 and {} was: {}", kCursorsMax,
                   wanted);
    query::FindQuery query;
    query.canonicalise({});
    query.natural = 1;
    auto cursor = open_cursor(lock, std::move(query));
    const int64_t id = keep_cursor(invocation.service.cursors(), lock, cursor, false, false);
    DCHECK((id == 0) == (cursor != nullptr));
    invocation.settle();  // else the client would not learn the cursor's id
    bson::Builder cursors = invocation.reply->sub_array("cursors");
    bson::Builder entry = cursors.sub_object(cursors.next().view());
    {
        bson::Builder shown = entry.sub_object("cursor");
        shown.sub_array("firstBatch").finish();
        shown.append("ns", ns).append("id", id);
    }
    entry.append("ok", true);
}

constexpr Field kFields[] = {
    {"numCursors", types::number},
};

constexpr Command kCommands[] = {
    {"parallelCollectionScan", "", 0, LockKind::read,
     "{ parallelCollectionScan: collection, numCursors: n }: cursors over all documents",
     run_parallel_scan, needs::on_collection(auth::action::find), kFields},
};

}  // namespace

Family parallel_scan_commands() {
    return kCommands;
}

}  // namespace command

#include "catalog/listing.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/thread_scratch.h"

namespace catalog {

using storage::Record;
using storage::RecordId;

namespace {

[[noreturn]] void refuse() {
    base::fail(base::kIllegalOperation,
               "system.namespaces and system.indexes can only be read: the storage engine keeps no "
               "such collections");
}

// The documents of one moment, so that they stay while the lock is given up.
class ListingCursor final : public storage::RecordCursor {
  public:
    ListingCursor(std::vector<bson::Object> documents, storage::Direction direction)
        : documents_(std::move(documents)), forward_(direction == storage::Direction::forward) {
        if (!forward_) next_ = documents_.size();
    }
    std::optional<Record> next() override {
        if (forward_ ? next_ >= documents_.size() : next_ == 0) return std::nullopt;
        const size_t at = forward_ ? next_++ : --next_;
        return Record{RecordId{at + 1}, documents_[at].doc()};
    }
    void seek(RecordId id) override {
        next_ = std::min(static_cast<size_t>(id.value), documents_.size());
        if (forward_ && next_ > 0) --next_;
    }
    void save() override {}
    bool restore() override { return true; }

  private:
    const std::vector<bson::Object> documents_;
    const bool forward_;
    size_t next_ = 0;  // backward: behind it
};

}  // namespace

ListingStore::ListingStore(storage::DatabaseStore& database, std::string ns)
    : database_(database), ns_(std::move(ns)) {}

std::vector<bson::Object> ListingStore::documents() const {
    std::vector<bson::Object> found;
    const bool of_namespaces = ns_.ends_with(".system.namespaces");
    if (of_namespaces) found.push_back(bson::make("name", database_.name() + ".system.indexes"));
    for (const std::string& ns : database_.collections()) {
        storage::CollectionStore& collection = *database_.collection(ns);
        if (of_namespaces) {
            bson::Builder entry;
            entry.append("name", ns);
            const bson::Object options = collection.options();
            if (!options.empty()) entry.append("options", options);
            found.push_back(entry.object());
        }
        for (int slot = 0; slot < collection.index_count(); ++slot) {
            const storage::IndexEntry index = collection.index(slot);
            if (of_namespaces)
                found.push_back(bson::make("name", ns + ".$" + index.name));
            else
                found.emplace_back(index.spec);
        }
    }
    return found;
}

void ListingStore::set_user_flags(int32_t) {
    refuse();
}
void ListingStore::replace_options(bson::Doc) {
    refuse();
}
storage::IndexEntry ListingStore::index(int) const {
    refuse();
}
int ListingStore::begin_index(bson::Doc) {
    refuse();
}
int ListingStore::finish_index(int) {
    refuse();
}
void ListingStore::drop_index(int) {
    refuse();
}
void ListingStore::set_multikey(int) {
    refuse();
}
void ListingStore::replace_index_spec(int, bson::Doc) {
    refuse();
}
void ListingStore::compact(const bson::Object&, const storage::CompactHooks&, bson::Builder&) {
    refuse();
}
void ListingStore::check_writable() const {
    refuse();
}

storage::ValidateReport ListingStore::validate(const storage::ValidateOptions&,
                                               bson::Builder& metrics) {
    metrics.append_number("nrecords", records_.count());
    return {};
}

void ListingStore::salvage(const std::function<void(bson::Doc)>& use,
                           const std::function<void(const std::string&)>&) {
    for (const bson::Object& document : documents())
        use(document);
}

RecordId ListingStore::Records::insert(bson::Doc) {
    refuse();
}
bool ListingStore::Records::fits(RecordId, int32_t) const {
    refuse();
}
void ListingStore::Records::overwrite(RecordId, bson::Doc) {
    refuse();
}
void ListingStore::Records::overwrite_range(RecordId, int32_t, std::span<const uint8_t>) {
    refuse();
}
RecordId ListingStore::Records::insert_moved(RecordId, bson::Doc) {
    refuse();
}
void ListingStore::Records::remove(RecordId) {
    refuse();
}
void ListingStore::Records::truncate() {
    refuse();
}
void ListingStore::Records::truncate_after(RecordId, bool) {
    refuse();
}

bson::Doc ListingStore::Records::get(RecordId id) const {
    struct Given {
        bson::Object object;
    };
    bson::Object& given = base::thread_scratch<Given>().object;
    std::vector<bson::Object> documents = listing_.documents();
    // A list that has become shorter since the id was read.
    given = id.value <= documents.size() ? std::move(documents[id.value - 1]) : bson::Object();
    return given.doc();
}

std::unique_ptr<storage::RecordCursor> ListingStore::Records::open_cursor(
    storage::Direction direction) {
    return std::make_unique<ListingCursor>(listing_.documents(), direction);
}

int64_t ListingStore::Records::count() const {
    return static_cast<int64_t>(listing_.documents().size());
}

storage::RecordStoreStats ListingStore::Records::stats() const {
    storage::RecordStoreStats stats;
    for (const bson::Object& document : listing_.documents()) {
        ++stats.count;
        stats.data_bytes += document.size();
    }
    stats.storage_bytes = stats.data_bytes;
    return stats;
}

}  // namespace catalog

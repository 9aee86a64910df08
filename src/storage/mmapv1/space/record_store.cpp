#include "storage/mmapv1/space/record_store.h"

#include <algorithm>

#include "base/dcheck.h"
#include "base/error.h"
#include "base/thread_scratch.h"
#include "sched/tick.h"
#include "storage/mmapv1/space/natural_order.h"
#include "storage/mmapv1/space/read_ahead.h"
#include "storage/space_request.h"

namespace mmapv1 {

namespace {

constexpr int32_t kPowerOf2Limit = 4 << 20;  // above, whole megabytes
constexpr int32_t kMegabyte = 1 << 20;
static_assert(kPowerOf2Limit == kListBounds[kDeletedLists - 2] && kPowerOf2Limit % kMegabyte == 0);
constexpr double kPaddingStep = 0.001;
constexpr double kPaddingMax = 2.0;
constexpr int kTruncateEmpties = 13415;

bool ends_with(std::string_view text, std::string_view end) {
    return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

}  // namespace

MmapRecordStore::MmapRecordStore(ExtentManager& extents, NamespaceDetails& details, std::string ns,
                                 PaddingSamplers& samplers)
    : storage_(extents, details, std::move(ns)),
      ring_(storage_),
      cursors_(std::make_shared<CursorList>()),
      samplers_(samplers),
      keeps_space_(ends_with(storage_.ns(), ".system.indexes")) {}

MmapRecordStore::~MmapRecordStore() {
    cursors_->detach_all();
}

void MmapRecordStore::refuse_write() const {
    base::fail(base::kIllegalOperation, "cannot write to {}: {}", storage_.ns(), read_only_);
}

void MmapRecordStore::set_before_capped_removal(BeforeRemoval callback) {
    before_capped_removal_ = std::move(callback);
}

int32_t MmapRecordStore::wanted_size(int32_t doc_bytes) const {
    const NamespaceDetails& d = storage_.details();
    const int32_t bytes = doc_bytes + kRecordHeaderBytes;
    if (d.is_capped != 0) return bytes;
    if ((d.user_flags & kUsePowerOf2Sizes) != 0)
        return bytes >= kPowerOf2Limit ? (bytes / kMegabyte + 1) * kMegabyte
                                       : kListBounds[deleted_list_of(bytes)];
    const double factor = d.padding_factor;
    // Written so that what is no number counts as none.
    return factor > 1.0 ? static_cast<int32_t>(bytes * std::min(factor, kPaddingMax)) : bytes;
}

Region MmapRecordStore::take(int32_t doc_bytes) {
    if (storage_.details().is_capped == 0) {
        storage::ask_for_space();
        DCHECK(wanted_size(doc_bytes) >= doc_bytes + kRecordHeaderBytes);
        return storage_.take(wanted_size(doc_bytes));
    }
    Region region;
    ring_.begin();
    while (!ring_.take(doc_bytes + kRecordHeaderBytes, &region)) {
        const DiskLoc oldest = ring_.oldest();
        if (before_capped_removal_)
            before_capped_removal_({oldest.id(), storage_.files().document(oldest)});
        cursors_->before_removal(storage_, oldest);
        ring_.remove(oldest);
    }
    return region;
}

storage::RecordId MmapRecordStore::put(const Region& region, bson::Doc doc) {
    if (doc.size() > region.length - kRecordHeaderBytes)
        storage_.files().damaged(region.loc, "a record is too short for what goes there");
    DCHECK(storage_.holds_own(region.loc, region.length));
    RecordHeader& record = storage_.files().record(region.loc);
    const auto doc_bytes = static_cast<size_t>(doc.size());
    storage_.views().declare(&record, sizeof record + doc_bytes);
    record.length = region.length;
    record.extent_offset = region.extent_offset;
    std::memmove(record.data(), doc.data(), doc_bytes);
    storage_.link(region.loc, record);
    if (storage_.details().is_capped != 0) ring_.note_inserted(region.loc);
    return region.loc.id();
}

storage::RecordId MmapRecordStore::insert(bson::Doc doc) {
    check_writable();
    const storage::RecordId id = put(take(doc.size()), doc);
    padding_fits();
    return id;
}

storage::RecordId MmapRecordStore::insert_sized(bson::Doc doc, int32_t bytes) {
    DCHECK(!capped() && bytes >= doc.size() + kRecordHeaderBytes);
    storage::ask_for_space();
    return put(storage_.take(bytes), doc);
}

void MmapRecordStore::overwrite(storage::RecordId id, bson::Doc doc) {
    check_writable();
    RecordHeader& record = storage_.checked_live(DiskLoc::from(id));
    if (doc.size() > record.data_bytes())
        storage_.files().damaged(DiskLoc::from(id), "a record is too short for what goes there");
    storage_.views().write(record.data(), doc.data(), static_cast<size_t>(doc.size()));
    padding_fits();
}

void MmapRecordStore::overwrite_range(storage::RecordId id, int32_t offset,
                                      std::span<const uint8_t> bytes) {
    check_writable();
    RecordHeader& record = storage_.checked_live(DiskLoc::from(id));
    if (offset < 0 || offset + static_cast<int64_t>(bytes.size()) > record.data_bytes())
        storage_.files().damaged(DiskLoc::from(id), "a record is too short for what goes there");
    storage_.views().write(record.data() + offset, bytes.data(), bytes.size());
    padding_fits();
}

storage::RecordId MmapRecordStore::insert_moved(storage::RecordId, bson::Doc doc) {
    check_writable();
    if (capped())
        base::fail(base::kCannotGrowDocumentInCappedNamespace,
                   "failing update: objects in a capped ns cannot grow");
    padding_too_small();
    return put(take(doc.size()), doc);
}

void MmapRecordStore::remove(storage::RecordId id) {
    check_writable();
    const DiskLoc loc = DiskLoc::from(id);
    cursors_->before_removal(storage_, loc);
    if (capped()) {
        ring_.remove(loc);
        return;
    }
    RecordHeader& record = storage_.checked_live(loc);
    const int32_t length = record.length;
    const int32_t extent_offset = record.extent_offset;
    storage_.unlink(loc);
    if (keeps_space_) {
        storage_.views().declare(&record, static_cast<size_t>(length));
        std::memset(static_cast<void*>(&record), 0, static_cast<size_t>(length));
    } else {
        storage_.give(loc, length, extent_offset);
    }
}

std::unique_ptr<storage::RecordCursor> MmapRecordStore::open_cursor(storage::Direction direction) {
    return std::make_unique<NaturalCursor>(storage_, cursors_, direction);
}

storage::RecordStoreStats MmapRecordStore::stats() const {
    const NamespaceDetails& d = storage_.details();
    storage::RecordStoreStats s;
    s.count = d.record_count;
    s.data_bytes = d.data_bytes;
    s.storage_bytes = storage_.storage_bytes(&s.extents);
    s.last_extent_bytes = d.last_extent_bytes;
    s.padding_factor = d.padding_factor == 0.0 ? 1.0 : d.padding_factor;
    s.system_flags = d.system_flags;
    s.user_flags = d.user_flags;
    s.capped = d.is_capped != 0;
    if (s.capped) s.capped_bytes = s.storage_bytes;
    s.capped_max_documents =
        d.max_documents <= 0 || d.max_documents == kNoDocumentLimit ? 0 : d.max_documents;
    return s;
}

void MmapRecordStore::truncate() {
    check_writable();
    cursors_->invalidate_all();
    if (capped()) {
        ring_.reset();
        return;
    }
    NamespaceDetails& d = storage_.details();
    SpaceViews& views = storage_.views();
    storage_.orphan_deleted();
    views.declare(&d.data_bytes, 2 * sizeof(int64_t));
    d.data_bytes = d.record_count = 0;
    int64_t extents = 0;
    for (DiskLoc at = d.first_extent; at.is_valid(); at = storage_.files().extent(at).next) {
        ExtentHeader& extent = storage_.own_extent_at(at, ++extents);
        views.declare(&extent.first_record, 2 * sizeof(DiskLoc));
        extent.first_record = extent.last_record = DiskLoc::null();
        DiskLoc start;
        int32_t bytes;
        ExtentManager::data_region(at, extent.length, storage_.special(), &start, &bytes);
        storage_.give(start, bytes, at.offset);
    }
}

void MmapRecordStore::truncate_after(storage::RecordId id, bool inclusive) {
    DCHECK(capped());
    check_writable();
    const DiskLoc end = DiskLoc::from(id);
    ring_.begin();
    for (;;) {
        const DiskLoc newest = ring_.step_to_newest();
        if (newest.is_null() || (newest == end && !inclusive)) return;
        if (count() == 1)
            base::fail(kTruncateEmpties, "truncating {} would leave it empty", storage_.ns());
        if (before_capped_removal_)
            before_capped_removal_({newest.id(), storage_.files().document(newest)});
        cursors_->before_removal(storage_, newest);
        ring_.remove(newest);
        if (newest == end) return;
    }
}

storage::RecordId MmapRecordStore::behind_extents(int64_t bytes) const {
    DiskLoc at = storage_.details().first_extent;
    int64_t extents = 0;
    if (!at.is_valid() || bytes <= storage_.files().extent(at).length) return {};
    for (; at.is_valid(); at = storage_.files().extent(at).next) {
        const ExtentHeader& extent = storage_.checked_extent_at(at, ++extents);
        const bool left_out = bytes > extent.length;
        bytes -= extent.length;
        if (!left_out && extent.first_record.is_valid()) return extent.first_record.id();
    }
    return {};
}

// A range of an index is read by one thread, so what a thread gets may be a walk.
void MmapRecordStore::read_ahead(DiskLoc loc) const {
    struct OfThread {
        ReadAhead ahead{nullptr};
    };
    ReadAhead& ahead = base::thread_scratch<OfThread>().ahead;
    if (!ahead.is_of(storage_.files())) ahead = ReadAhead(&storage_.files());
    ahead.come_to(loc);
}

void MmapRecordStore::touch() {
    constexpr int32_t kPageBytes = 4096;
    constexpr int64_t kTicksPerPage = 8;  // it may have to come from the disk
    int64_t extents = 0;
    ReadAhead ahead(&storage_.files());
    for (DiskLoc at = storage_.details().first_extent; at.is_valid();
         at = storage_.files().extent(at).next) {
        const ExtentHeader& extent = storage_.checked_extent_at(at, ++extents);
        const auto* start = reinterpret_cast<const volatile uint8_t*>(&extent);
        for (int32_t i = 0; i < extent.length; i += kPageBytes) {
            ahead.come_to({at.file, at.offset + i});
            static_cast<void>(start[i]);
            sched::tick(kTicksPerPage);
        }
    }
}

void MmapRecordStore::reset_padding() {
    NamespaceDetails& d = storage_.details();
    storage_.views().declare(&d.padding_factor, sizeof d.padding_factor);
    d.padding_factor = 1.0;
}

void MmapRecordStore::padding_fits() {
    if (!samplers_.fits.hit()) return;
    NamespaceDetails& d = storage_.details();
    const double factor = std::max(d.padding_factor - kPaddingStep, 1.0);
    if (factor == d.padding_factor) return;
    storage_.views().declare(&d.padding_factor, sizeof d.padding_factor);
    d.padding_factor = factor;
}

// Collections with many indexes pay more for a move, so they pad sooner.
void MmapRecordStore::padding_too_small() {
    if (!samplers_.moves.hit()) return;
    NamespaceDetails& d = storage_.details();
    const double step = kPaddingStep * (std::min(d.index_count, 7) + 3);
    const double factor = std::min(std::max(d.padding_factor.get(), 1.0) + step, kPaddingMax);
    if (factor == d.padding_factor) return;
    storage_.views().declare(&d.padding_factor, sizeof d.padding_factor);
    d.padding_factor = factor;
}

}  // namespace mmapv1

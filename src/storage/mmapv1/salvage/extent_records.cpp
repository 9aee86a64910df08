#include "storage/mmapv1/salvage/extent_records.h"

#include <algorithm>

#include "base/dcheck.h"
#include "base/error.h"
#include "bson/validate.h"
#include "bson/view.h"

namespace mmapv1 {

namespace {

constexpr int32_t kSmallestDocument = 5;
// Old servers allowed documents a little larger than 16 MB; nothing is larger than this.
constexpr int32_t kLargestDocument = 64 << 20;

}  // namespace

ExtentRecords::ExtentRecords(RawFile& file, const RawExtent& extent, int32_t limit,
                             bool keeps_removed, const OnDamage& damage)
    : file_(file),
      extent_(extent),
      begin_(extent.loc.offset + kExtentHeaderBytes),
      limit_(limit),
      keeps_removed_(keeps_removed),
      damage_(damage),
      seen_(limit > begin_ ? static_cast<size_t>(limit - begin_) / 4 + 1 : 0) {}

std::vector<int32_t> ExtentRecords::find(bool thorough) {
    if (!extent_.has_header) {
        report(extent_.loc.offset,
               "a link leads to an extent here, but its header is damaged; its records are looked "
               "for one by one");
        return look_everywhere();
    }
    const ExtentHeader& header = extent_.header;
    const auto end_of = [&](DiskLoc loc) {
        return loc.is_null() ? -1 : loc.file == extent_.loc.file ? loc.offset : 0;
    };
    const int32_t first = end_of(header.first_record), last = end_of(header.last_record);
    const int64_t first_link = extent_.loc.offset + int64_t{offsetof(ExtentHeader, first_record)};
    const int64_t last_link = extent_.loc.offset + int64_t{offsetof(ExtentHeader, last_record)};
    Walk front = walk(first, first_link, true);
    if (front.stopped_at == -1 && (front.found.empty() ? -1 : front.found.back()) == last) {
        if (front.unconfirmed == -1 && !thorough) return front.found;
        // A link may have led past some.
        const std::vector<int32_t> others = look_everywhere();
        const auto at =
            front.unconfirmed == -1 ? front.found.end() : front.found.begin() + front.unconfirmed;
        if (front.unconfirmed != -1)
            report(*at, fmt::format("this record and the one before it disagree; {} records that "
                                    "no link leads to are read too",
                                    others.size()));
        else if (!others.empty())
            report(extent_.loc.offset,
                   fmt::format("{} records of this extent that no link leads to", others.size()));
        front.found.insert(at, others.begin(), others.end());
        return front.found;
    }
    const Walk back = walk(last, last_link, false);
    std::vector<int32_t> middle = look_everywhere();
    if (front.stopped_at != -1)
        report(front.link_at,
               fmt::format("a link to the record at {:#x}, where none of this extent is",
                           front.stopped_at));
    else
        report(front.link_at, "the chain of records ends here, before the last one");
    if (back.stopped_at != -1 && !seen_.empty() &&
        !(in_reach(back.stopped_at) && seen(back.stopped_at)))
        report(back.link_at,
               fmt::format("a link back to the record at {:#x}, where none of this extent is",
                           back.stopped_at));
    front.found.insert(front.found.end(), middle.begin(), middle.end());
    front.found.insert(front.found.end(), back.found.rbegin(), back.found.rend());
    return front.found;
}

ExtentRecords::Walk ExtentRecords::walk(int32_t first, int64_t first_link, bool forward) {
    Walk walk;
    walk.link_at = first_link;
    int32_t before = -1;
    for (int32_t at = first; at != -1;) {
        RecordHeader record;
        walk.stopped_at = at;
        if (!load(at, &record) || seen(at)) return walk;
        if (!plausible_record(at, record)) {
            // Its length or its extent is wrong; it is there if it knows where we came from.
            const int32_t knows = forward ? record.prev_offset : record.next_offset;
            if (record.extent_offset != extent_.loc.offset && knows != before) return walk;
            report(at, fmt::format("the record's header is damaged: length {}, extent at {:#x}",
                                   record.length, record.extent_offset));
        }
        walk.stopped_at = -1;
        seen_[slot(at)] = true;
        if ((forward ? record.prev_offset : record.next_offset) != before && walk.unconfirmed == -1)
            walk.unconfirmed = static_cast<std::ptrdiff_t>(walk.found.size());
        walk.found.push_back(at);
        walk.link_at = at + static_cast<int64_t>(forward ? offsetof(RecordHeader, next_offset)
                                                         : offsetof(RecordHeader, prev_offset));
        before = at;
        at = forward ? record.next_offset : record.prev_offset;
    }
    return walk;
}

bool ExtentRecords::load(int32_t offset, RecordHeader* record) const {
    return in_reach(offset) && file_.load(offset, record);
}

bool ExtentRecords::in_reach(int32_t offset) const {
    return offset >= begin_ && offset % 4 == 0 && offset <= limit_ - kRecordHeaderBytes;
}

bool ExtentRecords::plausible_record(int32_t offset, const RecordHeader& record) const {
    return record.extent_offset == extent_.loc.offset && record.length > kRecordHeaderBytes &&
           record.length % 4 == 0 && record.length <= limit_ - offset;
}

// A free record has a DiskLoc where a live one has its two links: a file number, which is no place
// in the extent, and an offset; or null, which is (-1, 0).
bool ExtentRecords::looks_live(int32_t offset, const RecordHeader& record) const {
    const auto possible = [&](int32_t link) {
        return link == -1 || (in_reach(link) && link != offset);
    };
    return plausible_record(offset, record) && possible(record.next_offset) &&
           possible(record.prev_offset);
}

// Records that the chain did not lead to.
std::vector<int32_t> ExtentRecords::look_everywhere() {
    struct Candidate {
        int32_t offset;
        RecordHeader record;
    };
    std::vector<Candidate> candidates;
    std::vector<bool> pointed_to(seen_.size());
    const auto follow = [&](const RecordHeader& record) {
        for (const int32_t link : {record.next_offset, record.prev_offset})
            if (in_reach(link)) pointed_to[slot(link)] = true;
    };
    for (int32_t at = begin_; in_reach(at);) {
        RecordHeader record;
        if (!load(at, &record)) {
            at += 4;
            continue;
        }
        if (seen(at) || looks_live(at, record)) {
            follow(record);
            if (!seen(at)) candidates.push_back({at, record});
        }
        if (!plausible_record(at, record)) {
            at += 4;
            continue;
        }
        // A length may lie: never past a record that is known to be one.
        const int32_t end = at + record.length;
        for (at += 4; at < end && !(in_reach(at) && seen(at));)
            at += 4;
    }
    std::vector<int32_t> found;
    for (const Candidate& each : candidates) {
        if (keeps_removed_ && !pointed_to[slot(each.offset)]) continue;
        const uint8_t* document = nullptr;
        if (!look_at_document(file_, each.offset, limit_, &document).empty()) {
            report(each.offset, "perhaps a record, but what is in it cannot be read");
            continue;
        }
        DCHECK(in_reach(each.offset) && !seen(each.offset));
        seen_[slot(each.offset)] = true;
        found.push_back(each.offset);
    }
    return found;
}

void ExtentRecords::report(int64_t offset, std::string meaning) const {
    damage_({file_.name(), offset, std::move(meaning)});
}

std::string look_at_document(RawFile& file, int32_t record, int32_t limit, const uint8_t** bytes) {
    // The record's own length says nothing more: what is whole by its own structure is whole.
    DCHECK(record >= 0 && limit >= 0);
    int32_t size = 0;
    const int64_t at = int64_t{record} + kRecordHeaderBytes;
    const int64_t available = limit - at;
    if (!file.load(at, &size)) return "the file ends before it, or the device does not give it";
    if (static_cast<uint32_t>(size) == kDeletedMarker) return "it was removed";
    if (size < kSmallestDocument || size > kLargestDocument || size > available)
        return fmt::format("its length is {}, there is room for {}", size, available);
    *bytes = file.bytes(at, size);
    if (*bytes == nullptr) return "the file ends before its end, or the device does not give it";
    return bson::validate(*bytes, static_cast<size_t>(size), nullptr, bson::Source::data_file);
}

}  // namespace mmapv1

// Examines a collection for the validate command (mmapv1 spec 8.2, semantics 6 rules 7 and 8). With
// `full` the stronger checks of check.h run too; their findings go to the errors.
#include <algorithm>
#include <limits>

#include "base/error.h"
#include "bson/validate.h"
#include "sched/operation.h"
#include "storage/mmapv1/check.h"
#include "storage/mmapv1/collection.h"
#include "storage/mmapv1/space/natural_order.h"
#include "storage/mmapv1/space/read_ahead.h"
#include "storage/validate_fields.h"

namespace mmapv1 {

namespace {

// The counts of a scan of the records.
struct RecordCounts {
    int64_t records = 0, invalid = 0;
    int64_t quantised = 0, powers_of_2 = 0;
    int64_t with_headers = 0, without_headers = 0, bson = 0;
    int32_t address_decreases = 0;
};

bool is_power_of_2_size(int32_t bytes) {
    constexpr int32_t kMegabyte = 1 << 20;
    if (bytes >= 4 * kMegabyte) return bytes % kMegabyte == 0;
    return std::find(std::begin(kListBounds), std::end(kListBounds), bytes) !=
           std::end(kListBounds);
}

class Validation {
  public:
    Validation(MmapCollection& collection, const storage::ValidateOptions& options,
               bson::Builder& out)
        : collection_(collection),
          storage_(collection.storage()),
          files_(collection.storage().files()),
          options_(options),
          out_(out) {}

    storage::ValidateReport run() {
        if (details().is_capped != 0) {
            const int32_t max = details().max_documents;
            out_.append("capped", true);
            if (max <= 0 || max == kNoDocumentLimit)
                out_.append("max", std::numeric_limits<int64_t>::max());
            else
                out_.append("max", max);
        }
        // Walked first, so that what follows meets valid links only.
        if (check_everything()) {
            append_extents();
            if (options_.full || options_.scan_data) append_records();
            append_deleted();
        }
        walk_indexes();
        return std::move(report_);
    }

  private:
    const NamespaceDetails& details() const { return storage_.details(); }
    const ExtentHeader& extent(DiskLoc loc) const { return files_.extent(loc); }

    // Whether space is consistent enough to be walked.
    bool check_everything() {
        bool space_valid = true;
        const Findings found = [&](const Finding& finding) {
            if (finding.severity != Severity::error) return;
            if (finding.ns == storage_.ns()) space_valid = false;
            report_.add_error(finding.ns == storage_.ns()
                                  ? finding.text
                                  : fmt::format("{}: {}", finding.ns, finding.text));
        };
        if (options_.full)
            check_collection(collection_, options_.derive_keys, found);
        else
            check_space(storage_, found);
        return space_valid;
    }

    void append_details(bson::Builder& out, DiskLoc loc) const {
        const ExtentHeader& e = extent(loc);
        out.append("loc", to_string(e.my_loc))
            .append("xnext", to_string(e.next))
            .append("xprev", to_string(e.prev))
            .append("nsdiag", std::string_view(e.ns_diagnostic,
                                               strnlen(e.ns_diagnostic, sizeof e.ns_diagnostic)))
            .append("size", e.length)
            .append("firstRecord", to_string(e.first_record))
            .append("lastRecord", to_string(e.last_record));
    }

    std::string extent_text(DiskLoc loc) const {
        if (!loc.is_valid()) return to_string(loc);
        const ExtentHeader& e = extent(loc);
        return fmt::format(
            "{} ns:{}", to_string(loc),
            std::string_view(e.ns_diagnostic, strnlen(e.ns_diagnostic, sizeof e.ns_diagnostic)));
    }

    void append_extents() {
        const NamespaceDetails& d = details();
        out_.append("firstExtent", extent_text(d.first_extent));
        out_.append("lastExtent", extent_text(d.last_extent));
        int32_t count = 0;
        storage_.storage_bytes(&count);
        out_.append("extentCount", count);
        if (options_.full) {
            bson::Builder list = out_.sub_array("extents");
            for (DiskLoc at = d.first_extent; at.is_valid(); at = extent(at).next) {
                bson::Builder entry = list.sub_object(list.next().view());
                append_details(entry, at);
            }
        }
        out_.append_number("datasize", d.data_bytes);
        out_.append_number("nrecords", d.record_count);
        out_.append("lastExtentSize", d.last_extent_bytes);
        out_.append("padding", d.padding_factor == 0.0 ? 1.0 : d.padding_factor);
        if (count == 0) return;
        bson::Builder first = out_.sub_object("firstExtentDetails");
        append_details(first, d.first_extent);
        first.finish();
        if (count == 1) return;
        bson::Builder last = out_.sub_object("lastExtentDetails");
        append_details(last, d.last_extent);
    }

    void append_records() {
        RecordCounts counts;
        DiskLoc before = DiskLoc::null();
        ReadAhead ahead(&files_);
        for (DiskLoc at = first_record(storage_, storage::Direction::forward); at.is_valid();
             at = next_record(storage_, at, storage::Direction::forward)) {
            if (counts.records % 256 == 0) sched::Operation::check();
            ahead.come_to(at);
            count_record(at, &counts);
            if (before.is_valid() && at < before) counts.address_decreases++;
            before = at;
        }
        if (collection_.records().capped() && !collection_.records().ring().looped()) {
            out_.append("cappedOutOfOrder", counts.address_decreases);
            if (counts.address_decreases > 1) report_.add_error("capped records out of order");
        }
        if (counts.invalid > 0 && !options_.full)
            report_.add_error(fmt::format("{} records are no documents", counts.invalid));
        if (options_.scan_data) out_.append_number(storage::kInvalidDocuments, counts.invalid);
        out_.append_number("objectsFound", counts.records);
        if (options_.full) out_.append_number("invalidObjects", counts.invalid);
        out_.append_number("nQuantizedSize", counts.quantised);
        out_.append_number("nPowerOf2QuantizedSize", counts.powers_of_2);
        out_.append_number("bytesWithHeaders", counts.with_headers);
        out_.append_number("bytesWithoutHeaders", counts.without_headers);
        if (options_.full) out_.append_number("bytesBson", counts.bson);
    }

    void count_record(DiskLoc loc, RecordCounts* counts) const {
        const RecordHeader& record = files_.record(loc);
        counts->records++;
        counts->with_headers += record.length;
        counts->without_headers += record.data_bytes();
        if (record.length == quantised_record(record.length)) counts->quantised++;
        if (is_power_of_2_size(record.length)) counts->powers_of_2++;
        sched::tick_bytes(record.data_bytes(), sched::PerTick::converted);
        const bool valid = bson::validate(record.data(), static_cast<size_t>(record.data_bytes()),
                                          nullptr, bson::Source::data_file)
                               .empty();
        if (valid)
            counts->bson += bson::Doc(record.data()).size();
        else
            counts->invalid++;
    }

    // A capped collection's second pointer leads into the list of the first one: what is behind it
    // counts twice, and it counts one while it is not set.
    void append_deleted() {
        int64_t count = 0;
        int64_t bytes = 0;
        int32_t per_list[kDeletedLists] = {};
        for (int list = 0; list < kDeletedLists; list++) {
            const DiskLoc head = details().deleted_list[list];
            if (head == DiskLoc::invalid()) count++;
            for (DiskLoc at = head; at.is_valid(); at = files_.deleted(at).next) {
                sched::tick();
                per_list[list]++;
                count++;
                bytes += files_.deleted(at).length;
            }
        }
        out_.append_number("deletedCount", count);
        out_.append_number("deletedSize", bytes);
        if (!options_.full) return;
        bson::Builder list = out_.sub_array("delBucketSizes");
        for (const int32_t members : per_list)
            list.push(members);
    }

    void walk_indexes() {
        report_.index_count = details().index_count;
        for (int slot = 0; slot < details().index_count; slot++) {
            const storage::SortedIndex* tree = collection_.tree(slot);
            if (tree == nullptr) continue;
            const std::string index_ns = collection_.index_ns(slot);
            const int64_t used = tree->validate([&](const std::string& text) {
                if (!options_.full) report_.add_error(fmt::format("{}: {}", index_ns, text));
            });
            report_.keys_per_index.emplace_back(index_ns, used);
        }
    }

    MmapCollection& collection_;
    const NamespaceStorage& storage_;
    const DataFiles& files_;
    const storage::ValidateOptions& options_;
    bson::Builder& out_;
    storage::ValidateReport report_;
};

}  // namespace

storage::ValidateReport MmapCollection::validate(const storage::ValidateOptions& options,
                                                 bson::Builder& metrics) {
    return Validation(*this, options, metrics).run();
}

}  // namespace mmapv1

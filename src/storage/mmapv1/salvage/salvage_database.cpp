#include "storage/mmapv1/salvage/salvage_database.h"

#include <algorithm>
#include <map>
#include <unordered_set>

#include "base/dcheck.h"
#include "sched/operation.h"
#include "storage/mmapv1/salvage/spaces.h"
#include "storage/mmapv1/space/index_definition.h"

namespace mmapv1 {

namespace {

struct Record {
    DiskLoc loc;
    int32_t limit;
};

class DatabaseSalvage {
  public:
    DatabaseSalvage(os::FileSystem& files, const std::string& dbpath, const std::string& db,
                    bool directory_per_db, SalvageSink& sink)
        : db_(db),
          raw_(files, dbpath, db, directory_per_db),
          extents_(raw_),
          spaces_(raw_, extents_, db),
          sink_(sink) {}

    std::vector<Damage> run() {
        look_at_files();
        spaces_.claim();
        spaces_.claim_catalogue();
        read_catalogue();
        spaces_.claim_by_name(listed_);
        for (Space& space : spaces_.all())
            if (space.is_collection() && !is_catalogue(space.ns)) hand_out(space);
        for (Damage each : spaces_.damage())
            damage_.push_back(std::move(each));
        for (const auto& [number, file] : raw_.all_data())
            report_unreadable(*file);
        if (raw_.namespaces() != nullptr) report_unreadable(*raw_.namespaces());
        return std::move(damage_);
    }

  private:
    void report_unreadable(const RawFile& file) {
        for (const int64_t at : file.unreadable_pages())
            damage_.push_back({file.name(), at, "the device does not give this page"});
    }

    bool is_catalogue(const std::string& ns) const {
        return ns == db_ + ".system.namespaces" || ns == db_ + ".system.indexes" ||
               ns == db_ + ".system.profile";
    }

    // Files that are missing, cut, or have a header that is none.
    void look_at_files() {
        for (const Refusal& refused : raw_.refused())
            damage_.push_back({refused.path, 0, "it cannot be opened: " + refused.reason});
        int expected = 0;
        for (const auto& [number, file] : raw_.all_data()) {
            for (; expected < number; ++expected)
                damage_.push_back({raw_.name_of(expected), 0, "the file is missing"});
            expected = number + 1;
            int32_t fields[3];
            if (!file->load(0, &fields)) {
                const bool cut = file->length() < static_cast<int64_t>(sizeof fields);
                damage_.push_back({file->name(), cut ? file->length() : 0,
                                   cut ? "the file ends within its header"
                                       : "the device does not give the header of the file"});
                continue;
            }
            const auto [version, minor, length] = fields;
            const bool used = extents_.all().lower_bound({number, 0}) !=
                              extents_.all().lower_bound({number + 1, 0});
            if (version == 0 && !used) continue;  // made in advance
            if (version != kVersionMajor)
                damage_.push_back({file->name(), 0,
                                   fmt::format("the header of the file is damaged: version {}.{}",
                                               version, minor)});
            if (length != file->length())
                damage_.push_back(
                    {file->name(), file->length(),
                     fmt::format("the file ends here; its header says that it has {} bytes",
                                 length)});
        }
    }

    // Documents --------------------------------------------------------------------------------

    std::vector<Record> records_of(Space& space) {
        const size_t said = space.damage.size();
        std::vector<Record> found = records_of(space, false);
        if (!space.has_entry() || space.details.record_count <= static_cast<int64_t>(found.size()))
            return found;
        space.damage.resize(said);
        return records_of(space, true);
    }

    // In natural order; a ring that has come round begins with its oldest.
    std::vector<Record> records_of(Space& space, bool thorough) {
        const NamespaceDetails& d = space.details;
        const bool keeps_removed = d.is_capped != 0 || space.ns == db_ + ".system.indexes";
        const OnDamage damage = [&](Damage each) { space.damage.push_back(std::move(each)); };
        std::vector<std::vector<Record>> by_extent;
        for (const DiskLoc loc : space.extents) {
            sched::Operation::check();
            RawFile* const file = raw_.data(loc.file);
            DCHECK(file != nullptr);
            const int32_t limit = extents_.limit(loc);
            std::vector<Record>& records = by_extent.emplace_back();
            ExtentRecords inside(*file, *extents_.find(loc), limit, keeps_removed, damage);
            for (const int32_t offset : inside.find(thorough))
                records.push_back({{loc.file, offset}, limit});
        }
        DCHECK(by_extent.size() == space.extents.size());
        std::vector<Record> all;
        const auto append = [&](auto begin, auto end) { all.insert(all.end(), begin, end); };
        const auto current = static_cast<size_t>(std::ranges::find(space.extents, d.cap_extent) -
                                                 space.extents.begin());
        if (d.is_capped == 0 || d.cap_first_new == DiskLoc::invalid() ||
            current == space.extents.size()) {
            for (const auto& records : by_extent)
                append(records.begin(), records.end());
            return all;
        }
        const auto& turn = by_extent[current];
        const auto first_new = std::ranges::find(turn, d.cap_first_new, &Record::loc);
        append(turn.begin(), first_new);
        for (size_t i = 1; i < by_extent.size(); ++i) {
            const auto& records = by_extent[(current + i) % by_extent.size()];
            append(records.begin(), records.end());
        }
        append(first_new, turn.end());
        return all;
    }

    // Returns how many could not be read.
    template <typename Use>
    int64_t read(Space& space, Use use) {
        int64_t unread = 0;
        // In a crafted file records may lie in each other, and what is written be larger than any
        // disk.
        int64_t room = 0;
        for (const DiskLoc loc : space.extents)
            room += extents_.limit(loc) - loc.offset;
        for (const Record& record : records_of(space)) {
            sched::Operation::check();
            if (room < 0) {
                ++unread;
                continue;
            }
            RawFile& file = *raw_.data(record.loc.file);
            const uint8_t* bytes = nullptr;
            std::string fault = look_at_document(file, record.loc.offset, record.limit, &bytes);
            if (fault.empty()) {
                room -= bson::Doc(bytes).size() + kRecordHeaderBytes;
                if (room >= 0) {
                    use(bson::Doc(bytes));
                    continue;
                }
                fault =
                    "the documents have more bytes than the extents, so records lie in each "
                    "other, and no more of them are read";
            }
            ++unread;
            space.damage.push_back(
                {file.name(), record.loc.offset, "the document here cannot be read: " + fault});
        }
        return unread;
    }

    // Catalogue --------------------------------------------------------------------------------

    void read_catalogue() {
        if (Space* listing = spaces_.find(db_ + ".system.namespaces"))
            read(*listing, [&](bson::Doc doc) {
                const bson::Element name = doc["name"];
                if (!name.is_string()) return;
                listed_.emplace_back(name.as_string());
                is_listed_.insert(listed_.back());
                if (const bson::Element options = doc["options"]; options.is_object())
                    options_.insert_or_assign(listed_.back(), bson::Object(options.as_doc()));
            });
        if (Space* definitions = spaces_.find(db_ + ".system.indexes"))
            read(*definitions, [&](bson::Doc doc) { keep_definition(doc); });
        for (const char* name : {".system.namespaces", ".system.indexes"}) {
            const Space* space = spaces_.find(db_ + name);
            if (space == nullptr) {
                if (!raw_.all_data().empty() && !extents_.all().empty())
                    damage_.push_back({raw_.name_of_namespaces(), 0,
                                       fmt::format("{}{} cannot be found", db_, name)});
                continue;
            }
            damage_.insert(damage_.end(), space->damage.begin(), space->damage.end());
        }
    }

    static bool usable(bson::Doc definition) {
        return definition["ns"].is_string() && definition["name"].is_string() &&
               definition["key"].is_object();
    }

    void keep_definition(bson::Doc doc) {
        if (!usable(doc)) return;
        Definitions& known = definitions_[std::string(doc["ns"].as_string())];
        if (known.names.emplace(doc["name"].as_string()).second)
            known.all.push_back(shown_definition(doc));
    }

    // Returns the definitions that the entry names, also if the chain of definitions does not lead
    // to them; then those that name the collection.
    std::vector<bson::Object> indexes_of(Space& space, SalvagedCollection* out) {
        DCHECK(out != nullptr);
        const NamespaceDetails& d = space.details;
        const int64_t wanted = int64_t{d.index_count} + d.index_builds;
        for (int slot = 0; slot < std::clamp<int64_t>(wanted, 0, kIndexesMax); ++slot) {
            const IndexDetails* index = nullptr;
            if (slot < kInlineIndexes) {
                index = &d.indexes[slot];
            } else {
                const bool second = slot >= kInlineIndexes + kExtraIndexes;
                const ExtraBlock* block =
                    spaces_.extra_block(space.ns + (second ? "$extrb" : "$extra"));
                if (block != nullptr)
                    index = &block->indexes[slot - kInlineIndexes - (second ? kExtraIndexes : 0)];
            }
            RawFile* file = index == nullptr ? nullptr : raw_.data(index->info.file);
            const uint8_t* bytes = nullptr;
            if (file == nullptr || index->info.offset < kDataFileHeaderBytes ||
                !look_at_document(*file, index->info.offset, static_cast<int32_t>(file->length()),
                                  &bytes)
                     .empty())
                continue;
            const bson::Doc doc(bytes);
            if (usable(doc) && doc["ns"].as_string() == space.ns) keep_definition(doc);
        }
        const std::vector<bson::Object>& found = definitions_[space.ns].all;
        if (space.has_entry() && wanted != static_cast<int64_t>(found.size()))
            out->damage.push_back(
                {raw_.name_of_namespaces(),
                 space.entry_at + int64_t{offsetof(NamespaceSlot, details)} +
                     int64_t{offsetof(NamespaceDetails, index_count)},
                 fmt::format("the entry counts {} indexes, {} definitions were found", wanted,
                             found.size())});
        return found;
    }

    bson::Object options_of(const Space& space) const {
        const auto it = options_.find(space.ns);
        bson::Object options = it == options_.end() ? bson::Object() : it->second;
        const NamespaceDetails& d = space.details;
        // A collection must not become a ring by a flipped bit: the catalogue knows better, if it
        // knows the collection at all.
        if (d.is_capped == 0 || is_listed_.contains(space.ns)) return options;
        int64_t bytes = 0;
        for (const DiskLoc loc : space.extents)
            bytes += extents_.limit(loc) - loc.offset;
        bson::Builder made;
        made.append("capped", true).append_number("size", bytes);
        if (d.max_documents > 0 && d.max_documents != kNoDocumentLimit)
            made.append("max", d.max_documents);
        return made.object();
    }

    void hand_out(Space& space) {
        DCHECK(!space.ns.empty());
        SalvagedCollection out;
        out.db = db_;
        out.name = space.ns.substr(space.ns.find('.') + 1);
        sink_.begin(out.db, out.name);
        out.unread = read(space, [&](bson::Doc doc) {
            ++out.documents;
            sink_.document(doc);
        });
        out.options = options_of(space);
        out.indexes = indexes_of(space, &out);
        if (space.has_entry()) {
            out.counted = space.details.record_count.get();
            const int64_t here = out.documents + out.unread;
            if (*out.counted != here)
                out.damage.push_back({raw_.name_of_namespaces(),
                                      space.entry_at + int64_t{offsetof(NamespaceSlot, details)} +
                                          int64_t{offsetof(NamespaceDetails, record_count)},
                                      fmt::format("the entry counts {} documents, {} were found",
                                                  *out.counted, here)});
        }
        out.damage.insert(out.damage.begin(), space.damage.begin(), space.damage.end());
        out.damage_count = static_cast<int64_t>(out.damage.size());
        if (out.damage.size() > SalvagedCollection::kDamageMax)
            out.damage.resize(SalvagedCollection::kDamageMax);
        sink_.end(out);
    }

    const std::string& db_;
    const RawFiles raw_;
    ExtentMap extents_;
    Spaces spaces_;
    SalvageSink& sink_;
    std::vector<std::string> listed_;
    std::unordered_set<std::string> is_listed_;
    std::map<std::string, bson::Object> options_;
    struct Definitions {
        std::vector<bson::Object> all;
        std::unordered_set<std::string> names;
    };
    std::map<std::string, Definitions> definitions_;  // by namespace
    std::vector<Damage> damage_;
};

}  // namespace

std::vector<Damage> salvage_database(os::FileSystem& files, const std::string& dbpath,
                                     const std::string& db, bool directory_per_db,
                                     SalvageSink& sink) {
    return DatabaseSalvage(files, dbpath, db, directory_per_db, sink).run();
}

}  // namespace mmapv1

#include "storage/mmapv1/salvage/spaces.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/dcheck.h"
#include "base/error.h"
#include "storage/mmapv1/space/namespace_index.h"

namespace mmapv1 {

namespace {

constexpr int64_t kEntryBytes = sizeof(NamespaceSlot);
constexpr char kRemovedKey = 0x7f;  // first byte of the key of an entry that was removed

bool printable(const std::string& text) {
    return !text.empty() && std::ranges::none_of(text, [](char c) {
        return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    });
}

}  // namespace

Spaces::Spaces(const RawFiles& files, ExtentMap& extents, std::string db)
    : files_(files), extents_(extents), db_(std::move(db)) {
    read_entries();
    add_free_lists();
    chains_.resize(spaces_.size());
}

Space* Spaces::find(const std::string& ns) {
    const auto it = numbers_.find(ns);
    return it == numbers_.end() ? nullptr : &spaces_[it->second];
}

void Spaces::call(size_t number, const std::string& ns) {
    DCHECK(number < spaces_.size());
    spaces_[number].ns = ns;
    if (!ns.empty()) numbers_.emplace(ns, number);
}

const ExtraBlock* Spaces::extra_block(const std::string& name) const {
    const auto it = extra_.find(name);
    return it == extra_.end() ? nullptr : &it->second;
}

void Spaces::report(Space& space, int64_t offset, std::string meaning) const {
    DCHECK(offset >= 0 && !meaning.empty());
    space.damage.push_back({files_.name_of_namespaces(), offset, std::move(meaning)});
}

// Entries -----------------------------------------------------------------------------------------

void Spaces::read_entries() {
    RawFile* const file = files_.namespaces();
    constexpr int64_t kUnitBytes = 1 << 20;
    if (file == nullptr || file->length() == 0 || file->length() % kUnitBytes != 0) {
        entries_complete_ = false;
        damage_.push_back(
            {files_.name_of_namespaces(), file == nullptr ? 0 : file->length(),
             file == nullptr ? "the namespace file is missing: collections are told by the names "
                               "in their extents"
                             : "the namespace file ends here, not at whole megabytes: it was cut"});
    }
    if (file == nullptr) return;
    for (int64_t at = 0; at + kEntryBytes <= file->length(); at += kEntryBytes)
        add_entry(at);
    if (!file->unreadable_pages().empty()) entries_complete_ = false;
}

void Spaces::add_entry(int64_t at) {
    RawFile& file = *files_.namespaces();
    int32_t hash = 0;
    char key[kNamespaceKeyBytes];
    if (!file.load(at, &hash) || !file.load(at + int64_t{offsetof(NamespaceSlot, key)}, &key))
        return;
    const std::string name(key, strnlen(key, sizeof key));
    if (hash == 0 && (name.empty() || key[0] == kRemovedKey)) return;
    const bool valid = NamespaceIndex::hash(name) == hash && name.size() < sizeof key;
    const int64_t value_at = at + int64_t{offsetof(NamespaceSlot, details)};
    if (valid && is_extra_block(name)) {
        ExtraBlock block;
        if (file.load(value_at, &block)) extra_.emplace(name, block);
        return;
    }
    Space space;
    space.entry_at = at;
    if (!file.load(value_at, &space.details)) return;
    if (valid) {
        space.sure_name = true;
        if (name == db_ + ".$freelist") space.is_free = true;
    } else if (!extents_.find(space.details.first_extent) &&
               !extents_.find(space.details.last_extent)) {
        if (hash == 0) return;
        entries_complete_ = false;
        damage_.push_back(
            {file.name(), at,
             fmt::format("an entry called '{}' that fits neither its hash nor any extent",
                         printable(name) ? name : std::string("?"))});
        return;
    } else {
        entries_complete_ = false;
        report(space, at, "the name of the entry does not fit its hash");
    }
    spaces_.push_back(std::move(space));
    if (valid) call(spaces_.size() - 1, name);
    texts_.push_back(name);
    hashes_.push_back(hash);
}

void Spaces::add_free_lists() {
    Space space;
    space.is_free = true;
    space.sure_name = true;
    space.details.first_extent = space.details.last_extent = DiskLoc::null();
    RawFile* const first = files_.data(0);
    DataFileHeader header;
    constexpr int64_t kListEnd = offsetof(DataFileHeader, reserved);
    const uint8_t* bytes = first == nullptr ? nullptr : first->bytes(0, kListEnd);
    if (bytes == nullptr) {
        free_list_valid_ = false;
    } else {
        std::memcpy(static_cast<void*>(&header), bytes, kListEnd);
        space.details.first_extent = header.free_list_start;
        space.details.last_extent = header.free_list_end;
        for (DiskLoc* end : {&space.details.first_extent, &space.details.last_extent})
            if (*end == DiskLoc{0, 0}) *end = DiskLoc::null();
        if (header.version != kVersionMajor || header.unused.file != 0) free_list_valid_ = false;
    }
    spaces_.push_back(std::move(space));
    texts_.emplace_back();
    hashes_.push_back(0);
}

// Rounds 1 and 2 ----------------------------------------------------------------------------------

void Spaces::claim() {
    // A link may lead into the chain of another one: those with its own name come first.
    for (const Claim claim : {Claim::by_name, Claim::by_valid_entry, Claim::by_any_entry})
        for (size_t number = 0; number < spaces_.size(); ++number)
            claim_confirmed(number, claim);
    for (size_t number = 0; number < spaces_.size(); ++number)
        claim_one_sided(number);
    for (size_t number = 0; number < spaces_.size(); ++number)
        settle(number);
}

DiskLoc Spaces::end_of(size_t number, bool forward) const {
    const NamespaceDetails& details = spaces_[number].details;
    return forward ? details.first_extent : details.last_extent;
}

DiskLoc Spaces::link(DiskLoc from, bool forward) {
    const RawExtent* extent = extents_.find(from);
    if (extent == nullptr || !extent->has_header) return DiskLoc::invalid();
    return forward ? extent->header.next : extent->header.prev;
}

bool Spaces::free_for(DiskLoc loc) {
    const RawExtent* extent = extents_.find(loc);
    return extent != nullptr && extent->owner == kNoOwner;
}

bool Spaces::take(DiskLoc loc, size_t number, std::vector<DiskLoc>* to) {
    extents_.find(loc)->owner = static_cast<int>(number);
    to->push_back(loc);
    return true;
}

void Spaces::claim_confirmed(size_t number, Claim claim) {
    DCHECK(number < chains_.size());
    const Space& space = spaces_[number];
    const auto is_named = [&](bool forward) {
        const RawExtent* const extent = extents_.find(end_of(number, forward));
        return space.sure_name && extent != nullptr && name_in_header(extent->header) == space.ns;
    };
    if (claim == Claim::by_valid_entry && !space.sure_name) return;
    // Only the later extents of a collection that was renamed have its name.
    if (claim == Claim::by_name && !is_named(true) && !is_named(false)) return;
    for (const bool forward : {true, false}) {
        std::vector<DiskLoc>& part = forward ? chains_[number].front : chains_[number].back;
        const bool named = is_named(forward);
        DiskLoc before = DiskLoc::null();
        for (DiskLoc at = end_of(number, forward); free_for(at); at = link(at, forward)) {
            // The first one knows that nothing is before it, or is called as its namespace.
            if (link(at, !forward) != before && !(before.is_null() && named)) break;
            take(at, number, &part);
            before = at;
        }
    }
}

void Spaces::claim_one_sided(size_t number) {
    DCHECK(number < chains_.size());
    Chain& chain = chains_[number];
    for (const bool forward : {true, false}) {
        std::vector<DiskLoc>& part = forward ? chain.front : chain.back;
        for (;;) {
            const DiskLoc at = part.empty() ? end_of(number, forward) : link(part.back(), forward);
            if (!at.is_valid()) break;
            // Nothing but links says that an extent without a header is there.
            if (extents_.find(at) == nullptr && !spaces_[number].is_free)
                extents_.add_without_header(at);
            if (!free_for(at)) break;
            take(at, number, &part);
        }
    }
}

// Whether both parts of a chain meet; says where not.
void Spaces::settle(size_t number) {
    DCHECK(number < chains_.size());
    Space& space = spaces_[number];
    Chain& chain = chains_[number];
    const DiskLoc first = end_of(number, true), last = end_of(number, false);
    const auto is_whole = [&] {
        if (chain.front.empty())
            return first.is_null() && last.is_null() && space.details.record_count <= 0;
        return link(chain.front.back(), true).is_null() && chain.front.back() == last;
    };
    space.complete = is_whole();
    if (!space.complete && !chain.front.empty() && !chain.back.empty() &&
        (link(chain.front.back(), true) == chain.back.back() ||
         link(chain.back.back(), false) == chain.front.back()))
        space.complete = true;
    space.extents = chain.front;
    space.extents.insert(space.extents.end(), chain.back.rbegin(), chain.back.rend());
    if (is_whole()) return;
    if (space.is_free) {
        free_list_valid_ = false;
        damage_.push_back({files_.name_of(0), int64_t{offsetof(DataFileHeader, free_list_start)},
                           "the list of free extents is broken: what was removed may look as if it "
                           "were there"});
        return;
    }
    const auto say = [&](const std::vector<DiskLoc>& part, bool forward, size_t field) {
        const DiskLoc leads_to =
            part.empty() ? end_of(number, forward) : link(part.back(), forward);
        if (part.empty())
            report(space,
                   space.entry_at + int64_t{offsetof(NamespaceSlot, details)} +
                       static_cast<int64_t>(field),
                   fmt::format("a link to an extent at {}, where none of this namespace is",
                               to_string(leads_to)));
        else if (leads_to != DiskLoc::invalid())
            space.damage.push_back(
                {files_.name_of(part.back().file),
                 part.back().offset + static_cast<int64_t>(forward ? offsetof(ExtentHeader, next)
                                                                   : offsetof(ExtentHeader, prev)),
                 fmt::format("a link to an extent at {}, where none of this namespace is",
                             to_string(leads_to))});
    };
    say(chain.front, true, offsetof(NamespaceDetails, first_extent));
    if (!space.complete && !chain.back.empty() && !link(chain.back.back(), false).is_null())
        say(chain.back, false, offsetof(NamespaceDetails, last_extent));
}

// Names and round 3 -------------------------------------------------------------------------------

void Spaces::claim_catalogue() {
    std::vector<std::string> names;
    for (const char* name : {".system.namespaces", ".system.indexes"}) {
        const std::string ns = db_ + name;
        names.push_back(ns);
        if (find(ns) != nullptr) continue;
        // An entry whose hash or name is damaged, but whose extent knows whose it is.
        for (size_t number = 0; number < spaces_.size(); ++number) {
            Space& space = spaces_[number];
            if (!space.sure_name && !space.extents.empty() &&
                name_in_header(extents_.find(space.extents[0])->header) == ns) {
                call(number, ns);
                space.sure_name = true;
                break;
            }
        }
    }
    adopt(names, Listed(names));
}

Spaces::Listed::Listed(const std::vector<std::string>& all) {
    for (const std::string& name : all)
        if (names.insert(name).second) by_hash[NamespaceIndex::hash(name)].push_back(name);
}

void Spaces::claim_by_name(const std::vector<std::string>& listing) {
    const Listed listed(listing);
    name_spaces(listed);
    std::set<std::string> names(listing.begin(), listing.end());
    for (const auto& [loc, extent] : extents_.all()) {
        const std::string name = extent.has_header ? name_in_header(extent.header) : "";
        if (!name.empty() && !entries_complete_) names.insert(name);
    }
    for (const Space& space : spaces_)
        if (!space.ns.empty()) names.insert(space.ns);
    adopt({names.begin(), names.end()}, listed);
    for (const std::string& ns : listing) {
        if (find(ns) != nullptr || is_special_namespace(ns)) continue;
        Space space;
        report(space, 0, "the catalogue lists it, but no entry and no extent is called so");
        spaces_.push_back(std::move(space));
        call(spaces_.size() - 1, ns);
    }
}

void Spaces::name_spaces(const Listed& listed) {
    for (size_t number = 0; number < spaces_.size(); ++number) {
        Space& space = spaces_[number];
        if (space.sure_name) continue;
        const std::string ns = best_name(space, listed);
        if (ns.empty() && hashes_[number] == 0) continue;
        call(number, ns.empty() ? fmt::format("{}.nameless_{}", db_, number + 1) : ns);
        space.damage[0].meaning += fmt::format("; taken for {}", space.ns);
    }
}

std::string Spaces::best_name(const Space& space, const Listed& listed) {
    const auto number = static_cast<size_t>(&space - spaces_.data());
    const auto is_free = [&](const std::string& name) { return find(name) == nullptr; };
    DCHECK(number < texts_.size() && number < hashes_.size());
    const std::string& text = texts_[number];
    if (listed.names.contains(text) && is_free(text)) return text;
    if (hashes_[number] == 0) return {};
    if (const auto same = listed.by_hash.find(hashes_[number]); same != listed.by_hash.end())
        for (const std::string& name : same->second)
            if (is_free(name)) return name;
    for (const DiskLoc loc : space.extents) {
        const RawExtent* extent = extents_.find(loc);
        std::string name = extent->has_header ? name_in_header(extent->header) : "";
        if (!name.empty() && is_free(name)) return name;
    }
    return text.starts_with(db_ + ".") && printable(text) && is_free(text) ? text : std::string();
}

// Extents without an owner, by the name in their header.
void Spaces::adopt(const std::vector<std::string>& names, const Listed& listed) {
    std::unordered_map<std::string, std::vector<DiskLoc>> by_name;
    for (const auto& [loc, extent] : extents_.all())
        if (extent.owner == kNoOwner && extent.has_header)
            by_name[name_in_header(extent.header)].push_back(loc);
    for (const std::string& ns : names) {
        Space* space = find(ns);
        if (space != nullptr && space->complete) continue;
        if (space == nullptr && is_special_namespace(ns)) continue;
        const std::vector<DiskLoc> found = std::exchange(by_name[ns], {});
        if (found.empty()) continue;
        if (space == nullptr) {
            spaces_.emplace_back();
            call(spaces_.size() - 1, ns);
            chains_.emplace_back();
            texts_.emplace_back();
            hashes_.push_back(0);
            space = &spaces_.back();
            const bool known = listed.names.contains(ns);
            space->damage.push_back(
                {files_.name_of(found[0].file), found[0].offset,
                 known
                     ? "it has no entry in the namespace file; its extents are told by their name"
                     : "it has no entry in the namespace file and is not in the catalogue: perhaps "
                       "dropped or renamed before"});
        } else {
            space->damage.push_back(
                {files_.name_of(found[0].file), found[0].offset,
                 fmt::format("{} extents that no link leads to are called so and are read too{}",
                             found.size(),
                             free_list_valid_ ? "" : "; some may have been dropped before")});
        }
        const auto number = static_cast<int>(space - spaces_.data());
        for (const DiskLoc loc : found)
            extents_.find(loc)->owner = number;
        const std::vector<DiskLoc> ordered = in_order(found);
        const size_t front = static_cast<size_t>(number) < chains_.size()
                                 ? chains_[static_cast<size_t>(number)].front.size()
                                 : 0;
        space->extents.insert(space->extents.begin() + static_cast<std::ptrdiff_t>(front),
                              ordered.begin(), ordered.end());
    }
}

// Returns the extents in the order of their links, else by place: each behind the one that leads to
// it.
std::vector<DiskLoc> Spaces::in_order(const std::vector<DiskLoc>& found) {
    std::set<DiskLoc> left(found.begin(), found.end());
    std::map<DiskLoc, std::vector<DiskLoc>> behind;  // by the one before
    std::set<DiskLoc> heads;                         // of those left: the one before is not
    for (const DiskLoc loc : left) {
        const DiskLoc before = link(loc, false);
        if (left.contains(before))
            behind[before].push_back(loc);
        else
            heads.insert(loc);
    }
    std::vector<DiskLoc> ordered;
    while (!left.empty()) {
        DiskLoc at = heads.empty() ? *left.begin() : *heads.begin();
        while (left.erase(at) != 0) {
            heads.erase(at);
            for (const DiskLoc loc : behind[at])
                if (left.contains(loc)) heads.insert(loc);
            ordered.push_back(at);
            at = link(at, true);
        }
    }
    DCHECK(ordered.size() == found.size());
    return ordered;
}

}  // namespace mmapv1

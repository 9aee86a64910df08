#include "storage/mmapv1/space/shared_extents.h"

#include <algorithm>
#include <vector>

#include "storage/mmapv1/space/checked.h"
#include "storage/record_id_set.h"

namespace mmapv1 {

namespace {

struct ExtentSpan {
    DiskLoc begin;
    int64_t end = 0;                       // in the same file
    const NamespaceSlot* owner = nullptr;  // null: the list of free extents
};

class Finder {
  public:
    explicit Finder(const ExtentManager& extents) : files_(extents.files()) {}

    // Up to where another chain, or this one, has been: that extent is noted twice, and with it
    // both that link there. Thousands of chains that run into one therefore take no longer than
    // that one.
    void add_chain(DiskLoc first, const NamespaceSlot* owner) {
        DiskLoc at = first;
        for (bool is_new = true; is_new && checked_extent(files_, at);) {
            const ExtentHeader& extent = files_.extent(at);
            spans_.push_back({at, int64_t{at.offset} + extent.length, owner});
            is_new = seen_.insert(at.id());
            at = extent.next;
        }
        if (owner != nullptr && leads_into_tail(at)) found_.into_tail = owner->name();
    }

    SharedExtents run() {
        std::ranges::sort(spans_, {}, &ExtentSpan::begin);
        const auto note = [this](const ExtentSpan& span) {
            if (span.owner == nullptr) {
                found_.free_list = true;
            } else {
                found_.namespaces.emplace(span.owner->name());
            }
        };
        // The span before it that reaches furthest.
        const ExtentSpan* far = nullptr;
        for (const ExtentSpan& next : spans_) {
            const bool same_file = far != nullptr && far->begin.file == next.begin.file;
            if (same_file && next.begin.offset < far->end) {
                note(*far);
                note(next);
            }
            if (!same_file || next.end > far->end) far = &next;
        }
        return std::move(found_);
    }

  private:
    bool leads_into_tail(DiskLoc at) const {
        if (!at.is_valid() || !files_.plausible(at, sizeof(ExtentHeader))) return false;
        const ExtentHeader& extent = files_.extent(at);
        return extent.magic == kExtentMagic && extent.my_loc == at &&
               int64_t{at.offset} + extent.length > files_.header(at.file).unused.offset;
    }

    const DataFiles& files_;
    std::vector<ExtentSpan> spans_;
    storage::RecordIdSet seen_;
    SharedExtents found_;
};

}  // namespace

SharedExtents find_shared_extents(const ExtentManager& extents, const NamespaceIndex& namespaces) {
    Finder finder(extents);
    finder.add_chain(extents.free_list_head(), nullptr);
    for (const NamespaceSlot* slot : namespaces.all())
        if (!is_extra_block(slot->name())) finder.add_chain(slot->details.first_extent, slot);
    return finder.run();
}

}  // namespace mmapv1

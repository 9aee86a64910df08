#include "storage/mmapv1/space/shared_extents.h"

#include <algorithm>
#include <vector>

#include "storage/mmapv1/space/sound.h"

namespace mmapv1 {

namespace {

struct Stretch {
    DiskLoc begin;
    int64_t end = 0;                       // in the same file
    const NamespaceSlot* owner = nullptr;  // null: the list of free extents
};

// Blocks of further indexes hold no extents.
bool holds_extents(std::string_view ns) {
    return !is_special_namespace(ns) || ns.find(".$") != std::string_view::npos;
}

class Finder {
  public:
    explicit Finder(const ExtentManager& extents)
        : files_(extents.files()), most_(files_.total_bytes() / kMinExtentBytes) {}

    void add_chain(DiskLoc first, const NamespaceSlot* owner) {
        int64_t length = 0;
        // What runs in a circle has the same extent twice.
        for (DiskLoc at = first; sound_extent(files_, at) && length <= most_; ++length) {
            const ExtentHeader& extent = files_.extent(at);
            stretches_.push_back({at, int64_t{at.offset} + extent.length, owner});
            if (length > 0 && at == first) break;
            at = extent.next;
        }
    }

    SharedExtents run() {
        std::ranges::sort(stretches_, {}, &Stretch::begin);
        SharedExtents found;
        const auto note = [&found](const Stretch& stretch) {
            if (stretch.owner == nullptr) {
                found.free_list = true;
            } else {
                found.namespaces.emplace(stretch.owner->name());
            }
        };
        // Of those before, the one that reaches furthest.
        const Stretch* far = nullptr;
        for (const Stretch& next : stretches_) {
            const bool same_file = far != nullptr && far->begin.file == next.begin.file;
            if (same_file && next.begin.offset < far->end) {
                note(*far);
                note(next);
            }
            if (!same_file || next.end > far->end) far = &next;
        }
        return found;
    }

  private:
    const DataFiles& files_;
    const int64_t most_;
    std::vector<Stretch> stretches_;
};

}  // namespace

SharedExtents find_shared_extents(const ExtentManager& extents, const NamespaceIndex& namespaces) {
    Finder finder(extents);
    finder.add_chain(extents.free_list_head(), nullptr);
    for (const NamespaceSlot* slot : namespaces.all())
        if (holds_extents(slot->name())) finder.add_chain(slot->details.first_extent, slot);
    return finder.run();
}

}  // namespace mmapv1

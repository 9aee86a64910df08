// storage/mmapv1/space/namespace_index.h - the hash table of all namespaces of a database, file
// db.ns (mmapv1 spec 3).
//
// Entries never move while they exist: NamespaceDetails are used in place, by pointer. Reading
// needs the database lock shared, add() and erase() exclusive.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/dcheck.h"
#include "storage/mmapv1/mapping/views.h"
#include "storage/mmapv1/space/layout.h"

namespace mmapv1 {

class NamespaceIndex {
  public:
    NamespaceIndex(Views& views, MappedFile& file);

    static int32_t hash(std::string_view ns);

    NamespaceSlot* find(std::string_view ns) const;
    // A new entry with a zeroed value; the caller fills it. Throws base::Error 10081 when there is
    // no room in its neighbourhood, and 1 when there is such an entry.
    NamespaceSlot& add(std::string_view ns);
    void erase(NamespaceSlot& slot);
    void erase(std::string_view ns);  // if there is one
    // Returns the used slots, in slot order.
    std::vector<NamespaceSlot*> all() const;

    int64_t bytes() const { return file_.length(); }
    int32_t slot_count() const { return slots_; }
    int32_t max_chain() const { return max_chain_; }
    NamespaceSlot& slot(int32_t i) const {
        DCHECK(i >= 0 && i < slots_);
        return table_[i];
    }
    // Home slot of a hash.
    int32_t home(int32_t hash) const { return hash % slots_; }

    MappedFile& file() const { return file_; }
    Views& views() const { return views_; }

    // A value as a new collection or index namespace has it (mmapv1 spec 3.4).
    static void init_details(NamespaceDetails& details);

  private:
    NamespaceSlot& free_slot(std::string_view ns, int32_t hash) const;

    Views& views_;
    MappedFile& file_;
    NamespaceSlot* table_;
    int32_t slots_;
    int32_t max_chain_;
};

}  // namespace mmapv1

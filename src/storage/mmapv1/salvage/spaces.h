// storage/mmapv1/salvage/spaces.h - the namespaces of a damaged database: entries of the namespace
// file as far as they can be read, which extents are whose, and what each is called (mmapv1 spec
// 8.1 rules 2 and 4).
//
// Extents are given away in rounds, the surest first, so that a wrong link of one namespace does
// not take what belongs to another one:
//   1. along links that both sides confirm, from the entries and from the list of free extents;
//      first where the extent has the entry's name, last where the entry's own is damaged
//   2. along links of one side, to extents without an owner
//   3. by the name in the extent's header, to namespaces whose chain is broken or whose entry is
//      gone
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "storage/mmapv1/salvage/extent_map.h"
#include "storage/mmapv1/salvage/extent_records.h"

namespace mmapv1 {

struct Space {
    std::string ns;
    int64_t entry_at = -1;          // in the namespace file; -1: no entry
    NamespaceDetails details = {};  // zeros without an entry
    bool sure_name = false;
    bool is_free = false;          // a list of free extents
    bool complete = false;         // the chain of extents is whole
    std::vector<DiskLoc> extents;  // in order
    std::vector<Damage> damage;

    bool has_entry() const { return entry_at >= 0; }
    // Whether it holds documents, not an index or further blocks.
    bool is_collection() const { return !is_free && !ns.empty() && !is_special_namespace(ns); }
};

class Spaces {
  public:
    Spaces(const RawFiles& files, ExtentMap& extents, std::string db);

    // Rounds 1 and 2.
    void claim();
    // Round 3 for the two catalogues, which name all others.
    void claim_catalogue();
    // Round 3 for the rest. `listed`: the names in system.namespaces.
    void claim_by_name(const std::vector<std::string>& listed);

    std::vector<Space>& all() { return spaces_; }
    Space* find(const std::string& ns);
    // Damage that belongs to no collection.
    const std::vector<Damage>& damage() const { return damage_; }
    const ExtraBlock* extra_block(const std::string& name) const;

  private:
    // The names that system.namespaces lists: as a set, and by the hash that an entry of that name
    // has.
    struct Listed {
        explicit Listed(const std::vector<std::string>& names);
        std::unordered_set<std::string> names;
        std::unordered_map<int32_t, std::vector<std::string>> by_hash;
    };
    // A chain as it is claimed from both ends.
    struct Chain {
        std::vector<DiskLoc> front, back;
    };
    void read_entries();
    void add_entry(int64_t at);
    // The last one of spaces_, or one that had no name.
    void call(size_t number, const std::string& ns);
    void add_free_lists();
    enum class Claim { by_name, by_valid_entry, by_any_entry };
    void claim_confirmed(size_t number, Claim claim);
    void claim_one_sided(size_t number);
    bool take(DiskLoc loc, size_t number, std::vector<DiskLoc>* to);
    bool free_for(DiskLoc loc);
    DiskLoc link(DiskLoc from, bool forward);
    DiskLoc end_of(size_t number, bool forward) const;
    void settle(size_t number);
    void name_spaces(const Listed& listed);
    std::string best_name(const Space& space, const Listed& listed);
    void adopt(const std::vector<std::string>& names, const Listed& listed);
    std::vector<DiskLoc> in_order(const std::vector<DiskLoc>& found);
    void report(Space& space, int64_t offset, std::string meaning) const;

    const RawFiles& files_;
    ExtentMap& extents_;
    std::string db_;
    std::vector<Space> spaces_;
    std::unordered_map<std::string, size_t> numbers_;  // the first one of each name
    std::vector<Chain> chains_;                        // by space
    std::vector<std::string> texts_;  // of entries: the name as it stands there, by space
    std::vector<int32_t> hashes_;     // the same for hashes
    std::unordered_map<std::string, ExtraBlock> extra_;  // the first one of each name
    std::vector<Damage> damage_;
    bool entries_complete_ = true;  // the namespace file has one for whatever there is
    bool free_list_valid_ = true;
};

}  // namespace mmapv1

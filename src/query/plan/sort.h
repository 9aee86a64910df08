// query/plan/sort.h - sort specifications, sort keys of documents, and the sort in memory with its
// limit, or beyond it on the disk.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "bson/builder.h"
#include "dialect/dialect.h"
#include "query/match/match_tree.h"
#include "query/plan/interval.h"

namespace query {

class SortPattern {
  public:
    // `filter`, if given, decides which elements of arrays count (see append_key); it must outlive
    // the pattern, and have been parsed for the same collation: `collator`, null by bytes. Throws
    // base::Error 2 ("bad sort specification") unless every value, truncated, is 1 or -1.
    // Today's dialect sorts in the order of bson::compare_keys_of_today, up to 100 MB, 2.6's in
    // that of bson::compare_keys, up to 32 MB.
    explicit SortPattern(bson::Doc spec, const Matcher* filter = nullptr,
                         std::shared_ptr<const collation::Collator> collator = nullptr,
                         dialect::Dialect dialect = dialect::kV26);
    bson::Doc spec() const { return spec_.doc(); }
    uint32_t descending_bits() const { return descending_; }
    // Compares two keys that append_key() made.
    int compare(bson::Doc a, bson::Doc b) const;
    // The limit for the documents that a sort holds in memory, and the code of the error beyond
    // that.
    int64_t bytes_max() const;
    int code_of_overflow() const;
    // Returns the values that the filter lets a document be sorted by: bounds of each field, or
    // several of which one must hold; none: everything.
    std::span<const IndexBounds> bounds() const;
    // Appends the sort key of a document (unnamed values, with keys of the collation). Arrays give
    // their smallest, descending their largest, element among those that the filter's bounds on the
    // sorted fields allow; missing is null. Throws base::Error 2 for parallel arrays and ambiguous
    // numeric paths.
    void append_key(bson::Doc doc, bson::Buffer& out) const;

  private:
    struct Keys;
    bson::Object spec_;
    uint32_t descending_ = 0;
    dialect::Dialect dialect_ = dialect::kV26;
    std::shared_ptr<const Keys> keys_;
};

// An error of a sort in memory, as opposed to its caller's own errors.
class SortError : public base::Error {
  public:
    explicit SortError(const base::Error& cause) : base::Error(cause) {}
};

// Collects documents (copies) and hands them out in order: by their keys, equal ones by their tags
// (record ids, as the old server did), then as they came. With a limit only the top ones are kept.
class DocumentSorter {
  public:
    // Limit 0: none. `disk`: the folder for what does not fit into memory (spill/run.h), empty: the
    // system's; null: then adding fails.
    DocumentSorter(const SortPattern& pattern, int64_t limit, const std::string* disk = nullptr);
    ~DocumentSorter();
    // Throws SortError 15 ("Overflow sort stage buffered data usage of N bytes exceeds internal
    // limit of 33554432 bytes"), or 292, when the kept documents outgrow the pattern's bytes_max(),
    // what append_key throws, and 14031 where files cannot be written. `tag` is returned with the
    // document.
    void add(bson::Doc doc, uint64_t tag, const MatchDetails& details);
    // These add a document in two steps: the first one, which may take long, may be given up and
    // begun again.
    void make_key(bson::Doc doc);
    void add_by_key(bson::Doc doc, uint64_t tag, const MatchDetails& details);
    void finish();
    int64_t bytes() const;      // of the documents kept
    bool has_left_out() const;  // whether the limit kept any document out
    // The last document comes again.
    void put_back();
    // Gives the next document after finish(), valid until the next call.
    bool next(bson::Doc* doc, uint64_t* tag, MatchDetails* details);

  private:
    // Runs a step; an error of it becomes a SortError.
    template <typename Step>
    void try_to(Step&& step);

    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace query

// query/sort.h - sort specifications, sort keys of documents, and the sort in memory with its 32 MB
// limit.
#pragma once

#include <memory>

#include "bson/builder.h"
#include "query/match_tree.h"

namespace query {

class SortPattern {
  public:
    // Throws base::Error 2 ("bad sort specification") unless every value, truncated, is 1 or -1.
    explicit SortPattern(bson::Doc spec);
    bson::Doc spec() const { return spec_.doc(); }
    uint32_t descending_bits() const { return descending_; }
    // Appends the sort key of a document (unnamed values; arrays give their smallest or largest
    // element among those that `filter` bounds allow; missing is null). Throws Error 17144-style
    // for parallel arrays.
    void append_key(bson::Doc doc, bson::Buffer& out) const;

  private:
    bson::Object spec_;
    uint32_t descending_ = 0;
};

// Collects documents (copies) and hands them out in order; stable. With a limit only the top ones
// are kept.
class Sorter {
  public:
    static constexpr int64_t kMaxBytes = 32 << 20;
    Sorter(const SortPattern& pattern, int64_t limit);  // limit 0: none
    ~Sorter();
    // Throws base::Error 17144 ("Overflow sort stage buffered data usage of N bytes exceeds
    // internal limit of 33554432 bytes") when the kept data outgrows the limit. `tag` comes back
    // with the document.
    void add(bson::Doc doc, uint64_t tag, const MatchDetails& details);
    void finish();
    // After finish(): next document, valid until the Sorter dies.
    bool next(bson::Doc* doc, uint64_t* tag, MatchDetails* details);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace query

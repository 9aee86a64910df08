// query/stage/group_spill.h - what $group does on the disk: documents of groups that do not
// fit into memory, and groups that had to leave it.
//
// Nothing is summed up in parts: each group gets its documents in the order in which they came, so
// that results are the same, also those of floating point. First all is sorted by group, then the
// results by the group's first document.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bson/builder.h"
#include "query/accumulator/accumulator.h"
#include "query/value/value.h"
#include "spill/sorter.h"

namespace query {

using Accumulators = sched::Vector<std::unique_ptr<Accumulator>>;

class GroupSpill {
  public:
    struct Field {
        std::string name;
        AccumulatorMaker maker;
    };
    // `collator` compares the ids; null: none. Files go to `folder` (spill/run.h). Each call throws
    // what spill::Run does.
    GroupSpill(std::vector<Field> fields, std::shared_ptr<const collation::Collator> collator,
               const std::string& folder);

    // Adds the document of that number, with the values that the accumulators of the fields are to
    // get.
    void add_document(uint64_t number, const Value& id, std::span<const Value> values);
    // Adds a group so far, with the number of its first document; call before any later document of
    // it is added.
    void add_group(uint64_t number, const Value& id,
                   std::span<const std::unique_ptr<Accumulator>> accumulators);
    // Ends the additions; call after the last one.
    void finish();
    // Gives the next group's document after finish(), in the order of their first documents, valid
    // until the next call; false at the end.
    bool next(bson::Doc* out);

  private:
    // An entry: the number, a Kind, the id (an element without a name), and as its tail what the
    // accumulators get.
    enum class Kind : uint8_t { document, group };
    struct ById {
        struct Item {
            Value id;
            std::span<const uint8_t> entry;
        };
        void read(std::span<const uint8_t> entry, Item& item) const;
        bool before(const Item& a, const Item& b) const {
            return compare_pipeline_values(a.id, b.id, collator) < 0;
        }

        const collation::Collator* collator = nullptr;
    };
    // An entry: the number, and the resulting document as its tail.
    struct ByNumber {
        using Item = const uint8_t*;
        void read(std::span<const uint8_t> entry, Item& item) const { item = entry.data(); }
        bool before(const uint8_t* a, const uint8_t* b) const {
            return bson::load<uint64_t>(a) < bson::load<uint64_t>(b);
        }
    };

    void begin_entry(uint64_t number, Kind kind, const Value& id);
    void add_entry();
    void begin_group(const ById::Item& item);
    void feed(const ById::Item& item);
    void end_group();

    const std::vector<Field> fields_;
    const std::shared_ptr<const collation::Collator> collator_;
    spill::Sorter<ById> input_;
    spill::Sorter<ByNumber> results_;
    bson::Buffer entry_;
    size_t head_bytes_ = 0;  // of it, what comes before the tail
    // The group that is being put together.
    uint64_t number_ = 0;
    bson::Buffer id_;
    Accumulators accumulators_;
    bson::Buffer result_;
};

}  // namespace query

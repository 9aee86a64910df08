// query/update/update.h - update expressions: operators, replacements, upserts (wire spec 4.3,
// semantics 3).
//
// An Update is parsed once and applied to many documents. It produces the whole new document, or,
// where values are only replaced by others of the same type and size, a list of patches that can be
// written in place.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bson/builder.h"
#include "bson/patch.h"
#include "collation/collator.h"
#include "dialect/dialect.h"
#include "query/match/match_tree.h"

namespace query {

struct Mod;  // query/update/update_tree.h

struct UpdateResult {
    bool changed = false;   // false: the document stays byte for byte
    bool in_place = false;  // `patches` describe the change completely
    // Bytes of the Update, until its next apply(), in the order of mods().
    std::vector<bson::Patch> patches;
    std::vector<std::string>
        touched_paths;      // only with operators: roots of what may have changed, for index checks
    bool whole = false;     // replacement: everything may have changed
    bool computed = false;  // whole, of the document as it was, which may have kept most
    bool reorders = false;  // fields may stand in another order than before ($rename)
};

class Update {
  public:
    struct Options {
        bool multi = false;
        bool upsert = false;
        // Sent by OP_MSG, by a client that means it as later servers do: {$set: {}} changes
        // nothing, clauses that are silently ignored otherwise are refused, and an error has the
        // code of its cause. An error of the old messages has code 16837 for every fault of a
        // document, 16836 for one of a document to be inserted.
        dialect::Dialect dialect = dialect::kV26;
        bson::Element array_filters = {};  // missing: none
        // New fields come in the order in which it names them, as an entry in a log of writes means
        // it (idempotent.h). An update by the old messages does so anyway.
        bool in_given_order = false;
        // A replacement keeps each Timestamp(0,0) at its top level as it is.
        bool keeps_empty_timestamps = false;
        // The collation under which it compares texts; null: by their bytes.
        std::shared_ptr<const collation::Collator> collator = nullptr;
    };
    // Throws base::Error with the codes of semantics 3 / wire spec 4.3. Copies `u`.
    static std::unique_ptr<Update> parse(bson::Doc u, const Options& options);
    virtual ~Update() = default;

    virtual bool needs_details() const = 0;  // uses positional $
    // Computes the new document for `old` into `out` (one whole document; untouched where
    // result.in_place or !result.changed). `details` is from the match. Throws base::Error; then
    // nothing of `out` counts.
    virtual UpdateResult apply(bson::Doc old, const MatchDetails& details, bson::Buffer& out) = 0;
    // Returns its operators, in the order in which new fields appear: the Update's own, until its
    // next apply(). The ones that are `written` or `removed` are what the last apply() has done,
    // one for each of its patches if it was done in place; an index needs only one for each array
    // of touched_paths. Empty if the result is `whole`.
    virtual std::span<const Mod> mods() const { return {}; }
    // Appends the document that an upsert inserts: equality fields of the query plus the update
    // ($setOnInsert included); _id first, generated if neither gives one.
    virtual void build_upsert(const Matcher& query, bson::Buffer& out) = 0;
};

// The document after the apply() that gave `result` for `before`: in `out`, where that one has
// written or this one does, or as it was.
bson::Doc updated_document(bson::Doc before, const UpdateResult& result, bson::Buffer& out);

// Checks a document that is to be stored (top-level and _id rules) and returns it with _id first,
// added if missing, and, if `fills_timestamps`, a top-level Timestamp(0,0) filled; `out` receives
// the fixed copy only if something had to change (else the input is good as it is and false is
// returned). Throws base::Error 2, 52, 53, 57 as insert does. A client of OP_MSG may use names that
// begin with '$', except in `_id`; its second `_id` is refused, which is dropped else.
bool fix_for_insert(bson::Doc doc, bool need_id, bson::Buffer& out,
                    dialect::Dialect dialect = dialect::kV26, bool fills_timestamps = true);

// Writes a copy of the document with the time in each Timestamp(0,0) at its top level, `_id`
// excepted, to `out`. False, and nothing is written, where there is none.
bool fill_timestamps(bson::Doc doc, bson::Buffer& out);

// The next cluster-wide unique timestamp (seconds << 32 | increment), for Timestamp(0,0) and
// $currentDate.
uint64_t next_timestamp();

}  // namespace query

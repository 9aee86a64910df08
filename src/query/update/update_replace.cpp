// Replacement of a whole document, and the insert of one that was not found.

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "bson/compare.h"
#include "bson/json.h"
#include "dialect/dialect.h"
#include "dialect/updates.h"
#include "query/update/document_check.h"
#include "query/update/update.h"
#include "query/update/update_base.h"

namespace query {

using bson::Element;

namespace {

class Replacement : public Update {
  public:
    Replacement(bson::Doc u, const Options& options) : source_(u), dialect_(options.dialect) {
        bson::Buffer filled;
        if (!options.keeps_empty_timestamps && fill_timestamps(u, filled))
            source_ = bson::Object(bson::Doc(filled.data()));
    }

    bool needs_details() const override { return false; }

    UpdateResult apply(bson::Doc old, const MatchDetails&, bson::Buffer& out) override {
        // Given in full and equal byte for byte: whatever its names are, they are stored already.
        if (std::ranges::equal(source_.doc().bytes(), old.bytes())) return {};
        check_names();
        const Element id = old["_id"];
        check_wanted_id(id, kUpdateFailed);
        const size_t start = out.size();
        if (id) {
            write_with_id_first(source_, id, out);
        } else {
            out.append(source_.doc().data(), static_cast<size_t>(source_.size()));
        }
        const bson::Doc now(out.data() + start);
        check_size(now);
        UpdateResult result;
        // A document that is equal but for a missing `_id` counts as a change, unless there are no
        // other fields.
        result.changed = !source_.empty() || !std::ranges::equal(now.bytes(), old.bytes());
        result.whole = result.changed;
        if (!result.changed) out.truncate(start);
        return result;
    }

    void build_upsert(const Matcher& query, bson::Buffer& out) override {
        if (dialect_.has(dialect::kUpsertsTakeOneValue)) refuse_part_of_id(query);
        check_names();
        const Element id = id_from(query);
        if (!id) {
            const Element wanted = source_["_id"];
            check_id_type(wanted);
            // A condition on `_id` is no `_id` that the new document could have.
            check_names_of_id(wanted);
            if (const Element condition = query.filter()["_id"]) check_same_id(condition, wanted);
            write_with_id_first(source_, wanted, out);
            return;
        }
        check_wanted_id(id, kUpsertFailed);
        check_id_type(id);
        check_names_of_id(id);
        write_with_id_first(source_, id, out);
    }

  private:
    void check_names() const {
        bool has_id = false;
        for (const Element& e : source_) {
            if (!dialect_.has(dialect::kOneId)) break;
            if (e.name() == "_id" && std::exchange(has_id, true)) refuse_second_id();
            if (e.name().starts_with('$'))
                base::fail(base::kDollarPrefixedFieldName,
                           "A replacement cannot have the dollar ($) prefixed field '{}' at its "
                           "top level.",
                           e.name());
        }
        check_stored_names(source_, false, 1, names_in_documents(dialect_));
    }
    void check_names_of_id(const Element& id) const {
        if (id.is_object()) check_stored_names(id.as_doc(), false, 2, names_in_id(dialect_));
    }
    void check_wanted_id(const Element& id, int code) const {
        const Element wanted = source_["_id"];
        if (!wanted) return;
        with_code(dialect_.has(dialect::kUpdateErrors) ? 0 : code,
                  {base::kImmutableField, base::kNotSingleValueField},
                  [&] { check_same_id(id, wanted); });
    }

    // The `_id` of the filter as it stands there, unless the filter is one single condition other
    // than equality.
    static Element id_from(const Matcher& query) {
        const auto& children = query.root().children;
        const bool single = children.size() == 1;
        if (single) {
            const MatchKind kind = children[0]->kind;
            if (kind != MatchKind::eq && kind != MatchKind::conjunction && kind != MatchKind::all) {
                return {};
            }
        }
        return query.filter()["_id"];
    }

    bson::Object source_;
    dialect::Dialect dialect_;
};

}  // namespace

std::unique_ptr<Update> make_replacement(bson::Doc u, const Update::Options& options) {
    return std::make_unique<Replacement>(u, options);
}

}  // namespace query

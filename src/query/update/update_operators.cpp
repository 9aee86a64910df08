// Update with operators: parsing, the change in place, the rewritten document and its checks.

#include "dialect/dialect.h"
#include "dialect/filters.h"
#include "dialect/updates.h"
#include "query/update/update.h"

#include <algorithm>
#include <map>
#include <optional>
#include <span>

#include "base/error.h"
#include "bson/compare.h"
#include "bson/element_writer.h"
#include "bson/field_path.h"
#include "bson/json.h"
#include "query/update/document_check.h"
#include "query/update/modifier_table.h"
#include "query/update/odd_arguments.h"
#include "query/update/update_base.h"
#include "query/update/update_tree.h"
#include "sched/tick.h"

namespace query {

using bson::Element;

namespace {

// The errors of a modifier's place or value. The errors of the result (names, size, `_id`) have
// codes of their own.
constexpr std::initializer_list<int> kOfModifiers = {
    base::kBadValue, base::kTypeMismatch, base::kPathNotViable, base::kCannotBackfillArray,
    base::kConflictingUpdateOperators};

bool is_prefix(const std::vector<std::string>& a, const std::vector<std::string>& b) {
    return a.size() <= b.size() && std::equal(a.begin(), a.end(), b.begin());
}

// Numbers by their value, before other names.
bool name_before(const std::string& a, const std::string& b) {
    const int64_t number_a = array_index(a);
    const int64_t number_b = array_index(b);
    if (number_a >= 0 || number_b >= 0)
        return static_cast<uint64_t>(number_a) < static_cast<uint64_t>(number_b);
    return a < b;
}

class OperatorUpdate : public Update {
  public:
    OperatorUpdate(bson::Doc u, const Options& options)
        : source_(u),
          options_(options),
          dialect_(options.dialect),
          filters_(options.array_filters, options.collator) {
        for (const Element& e : source_)
            parse_operator(e);
        if (in_path_order()) put_in_order();
        filters_.check_used();
        if (std::ranges::any_of(mods_, [](const Mod& m) { return !m.arrays.empty(); })) {
            check_arrays();
            parsed_ = std::move(mods_);
            mods_.clear();
        } else if (dialect_.has(dialect::kPathsConflict) && mods_.size() > 1) {
            check_conflicts();
        }
    }

    bool needs_details() const override {
        return std::ranges::any_of(parsed_.empty() ? mods_ : parsed_,
                                   [](const Mod& m) { return m.positional >= 0; });
    }

    UpdateResult apply(bson::Doc old, const MatchDetails& details, bson::Buffer& out) override {
        return with_code(dialect_.code(kUpdateFailed, 0), kOfModifiers,
                         [&] { return changed(old, details, out); });
    }
    std::span<const Mod> mods() const override { return mods_; }
    void build_upsert(const Matcher& query, bson::Buffer& out) override;

  private:
    void parse_operator(const Element& e);
    void add_rename(const Element& e);
    // Today's servers add new fields in the order of their names, whatever modifiers they come
    // from. With a $rename the order stays: which steps it is in conflict with depends on it.
    bool in_path_order() const {
        return dialect_.has(dialect::kNewFieldsAreSorted) && !renames_ && !options_.in_given_order;
    }
    void put_in_order();
    void check_conflicts();
    void check_arrays();
    void set_position(const MatchDetails& details);
    void find_places(bson::Doc doc, bool for_insert);
    static void check_path(const Mod& mod, bson::Doc doc);
    void check_insert_paths(bson::Doc old);
    static bool prepare_rename(Mod& from, Mod& to, bson::Doc doc);
    UpdateResult changed(bson::Doc old, const MatchDetails& details, bson::Buffer& out);
    void insert_into(bson::Doc base, bson::Buffer& out);
    bool apply_in_turn(bson::Doc old, bool for_insert, bson::Buffer& out);
    bool try_patches(bson::Doc old, UpdateResult& result);
    void check_written(std::span<const Mod> mods, bson::Doc now) const;
    std::vector<std::string> touched_paths() const;
    bool renames_onto_field(bson::Doc old) const;

    bson::Object source_;
    const Options options_;
    dialect::Dialect dialect_;
    ArrayFilters filters_;
    // The modifiers as they were parsed, if a path leads through elements of arrays: `mods_` are
    // made of these for each document.
    sched::Vector<Mod> parsed_;
    sched::Vector<Mod> mods_;
    std::optional<ModTree> tree_;
    int64_t position_ = -1;
    bool touches_id_ = false;
    bool all_scalar_ = true;
    bool renames_ = false;
    bson::Buffer scratch_;
};

void OperatorUpdate::parse_operator(const Element& e) {
    const std::string_view name = e.name();
    const ModifierMaker maker = maker_of(name);
    const bool is_gone = dialect_.has(dialect::kPushAllIsGone) && name == "$pushAll";
    if (is_gone || (maker == nullptr && name != "$rename")) {
        base::fail(base::kFailedToParse, "Unknown modifier: {}", name);
    }
    if (!e.is_object()) {
        base::fail(base::kFailedToParse,
                   "Modifiers operate on fields but we found a {} instead. "
                   "For example: {{$mod: {{<field>: ...}}}} not {{{}: {}}}",
                   bson::to_text(e), name, bson::to_text(e));
    }
    const bson::Doc fields = e.as_doc();
    if (fields.empty() && !dialect_.has(dialect::kEmptyModifierIsTaken)) {
        base::fail(base::kFailedToParse,
                   "'{}' is empty. You must specify a field like so: "
                   "{{{}: {{<field>: ...}}}}",
                   name, name);
    }
    for (const Element& field : fields) {
        if (dialect_.has(dialect::kArgumentsAreChecked)) refuse_odd_argument(name, field);
        if (name == "$rename") {
            add_rename(field);
            continue;
        }
        Mod mod;
        parse_path(field.name(), dialect_.has(dialect::kArrayFilters) ? &filters_ : nullptr, mod);
        mod.take(maker(field, options_));
        mod.on_insert_only = name == "$setOnInsert";
        if (!mod.on_insert_only && !mod.modifier->scalar()) all_scalar_ = false;
        if (mod.path[0] == "_id") touches_id_ = true;
        mods_.push_back(std::move(mod));
    }
}

void OperatorUpdate::add_rename(const Element& e) {
    if (!e.is_string()) {
        base::fail(base::kBadValue, "The 'to' field for $rename must be a string: {}",
                   bson::to_text(e));
    }
    Mod from;
    Mod to;
    ArrayFilters* const filters = dialect_.has(dialect::kArrayFilters) ? &filters_ : nullptr;
    parse_path(e.name(), filters, from);
    parse_path(e.as_string(), filters, to);
    if (is_prefix(from.path, to.path) || is_prefix(to.path, from.path)) {
        base::fail(base::kBadValue,
                   "The source and target field for $rename must differ and not "
                   "lie on one path: {} -> {}",
                   e.name(), e.as_string());
    }
    if (from.positional >= 0 || to.positional >= 0 || !from.arrays.empty() || !to.arrays.empty()) {
        base::fail(base::kBadValue, "The source and destination of $rename may not be dynamic");
    }
    if (from.path[0] == "_id" || to.path[0] == "_id") touches_id_ = true;
    all_scalar_ = false;
    renames_ = true;
    from.take(make_unset());
    to.take(std::make_unique<MovedValue>());
    to.moved = true;
    mods_.push_back(std::move(from));
    mods_.push_back(std::move(to));
}

void OperatorUpdate::put_in_order() {
    const auto before = sched::ticking([](const Mod& a, const Mod& b) {
        return std::ranges::lexicographical_compare(a.path, b.path, name_before);
    });
    if (!std::ranges::is_sorted(mods_, before)) std::ranges::stable_sort(mods_, before);
}

// Refuses two modifiers on one path whatever the documents are. The old messages look only at those
// that have something to do, with the first document.
void OperatorUpdate::check_conflicts() {
    const bool all_apply =
        !renames_ && std::ranges::none_of(mods_, [](const Mod& m) { return m.on_insert_only; });
    if (all_apply)
        tree_.emplace(mods_, false);
    else
        ModTree(mods_, true);
}

// Refuses a path that is equal to another one or leads through it, as for other paths, whatever the
// documents; and elements of an array that are named in two ways: by filters and by their index.
void OperatorUpdate::check_arrays() {
    const ModTree without_conflicts(mods_, true);
    std::map<std::string, bool> by_filter;  // the path of an array, and whether it is
    for (const Mod& m : mods_) {
        std::string above;
        for (size_t i = 0; i < m.path.size(); ++i) {
            sched::tick_bytes(above.size(), sched::PerTick::walked);
            const bool filtered =
                std::ranges::any_of(m.arrays, [i](const auto& array) { return array.first == i; });
            const auto [there, added] = by_filter.emplace(above, filtered);
            if (!added && there->second != filtered) fail_conflict(m.path);
            above += m.path[i];
            above += '.';
        }
    }
}

void OperatorUpdate::set_position(const MatchDetails& details) {
    if (!needs_details()) return;
    if (!details.has_index) {
        base::fail(base::kBadValue,
                   "The positional operator did not find the match needed from "
                   "the query.");
    }
    if (position_ == details.array_index) return;
    tree_.reset();
    position_ = details.array_index;
    for (Mod& m : parsed_.empty() ? mods_ : parsed_) {
        if (m.positional < 0) continue;
        m.path[static_cast<size_t>(m.positional)] = bson::IndexName(details.array_index).view();
    }
}

void OperatorUpdate::find_places(bson::Doc doc, bool for_insert) {
    if (parsed_.empty()) return;
    tree_.reset();
    mods_.clear();
    for (const Mod& m : parsed_) {
        if (m.arrays.empty())
            mods_.push_back(on_path(m, m.path));
        else if (for_insert || !m.on_insert_only)
            add_places(m, doc, filters_, mods_);
    }
}

void OperatorUpdate::check_path(const Mod& mod, bson::Doc doc) {
    const FieldLocation place = locate_field(mod.path, doc);
    if (place.blocked) fail_blocked(mod.path, place);
}

// Paths of $setOnInsert have to lead somewhere also where nothing is inserted: in what the
// modifiers before them have left. Today's servers look at them only where they insert.
void OperatorUpdate::check_insert_paths(bson::Doc old) {
    for (size_t i = 0; i < mods_.size(); ++i) {
        const Mod& m = mods_[i];
        if (!m.on_insert_only) continue;
        const std::span<Mod> others(mods_.data(), i);
        const bool changed_above =
            std::ranges::any_of(others, sched::ticking([&](const Mod& other) {
                                    return !other.on_insert_only && is_prefix(other.path, m.path);
                                }));
        if (!changed_above) {
            check_path(m, old);
            continue;
        }
        bson::Buffer now;
        ModTree(others, false).apply(old, now);
        check_path(m, bson::Doc(now.data()));
    }
}

// Finds what a $rename moves. False: the field is missing, so there is nothing to do.
bool OperatorUpdate::prepare_rename(Mod& from, Mod& to, bson::Doc doc) {
    const FieldLocation source = locate_field(from.path, doc);
    if (source.blocked) fail_blocked(from.path, source);
    if (source.depth != from.path.size()) return false;
    const FieldLocation target = locate_field(to.path, doc);
    if (target.blocked) fail_blocked(to.path, target);
    const bool into_array = target.depth != to.path.size() && target.element.is_array();
    if (source.through_array || target.through_array || into_array) {
        base::fail(base::kBadValue,
                   "The source and destination of $rename cannot be array "
                   "elements");
    }
    static_cast<MovedValue&>(*to.modifier).set(source.element);
    return true;
}

// One modifier after the other, each on what those before it have left: beside a $rename this makes
// a difference. Appends the new document to `out` and returns whether anything changed.
bool OperatorUpdate::apply_in_turn(bson::Doc old, bool for_insert, bson::Buffer& out) {
    for (Mod& m : mods_)
        m.written = m.removed = false;
    std::vector<const Mod*> active;
    bson::Object now(old);
    bson::Buffer next;
    bool changed = false;
    for (size_t i = 0; i < mods_.size(); ++i) {
        if (mods_[i].on_insert_only && !for_insert) {
            if (!dialect_.has(dialect::kInsertPathsAreApart)) check_path(mods_[i], now);
            continue;
        }
        const bool rename = i + 1 < mods_.size() && mods_[i + 1].moved;
        const std::span<Mod> step(&mods_[i], rename ? 2 : 1);
        i += step.size() - 1;
        if (rename && !prepare_rename(step[0], step[1], now)) continue;
        for (const Mod& m : step) {
            for (const Mod* other : sched::ticked(active)) {
                if (is_prefix(m.path, other->path) || is_prefix(other->path, m.path))
                    fail_conflict(m.path);
            }
            active.push_back(&m);
        }
        next.clear();
        if (!ModTree(step, for_insert).apply(now, next)) continue;
        changed = true;
        check_written(step, bson::Doc(next.data()));
        now = bson::Object(bson::Doc(next.data()));
    }
    out.append(now.doc().data(), static_cast<size_t>(now.size()));
    return changed;
}

// Values that keep their type and size are changed where they are. False: the document has to be
// written anew.
bool OperatorUpdate::try_patches(bson::Doc old, UpdateResult& result) {
    // Each one is looked up by itself; the tree finds many in one pass.
    constexpr size_t kPatchesMax = 1000;
    if (mods_.size() > kPatchesMax) return false;
    scratch_.clear();
    std::vector<size_t> starts;
    for (Mod& m : mods_) {
        if (m.on_insert_only) continue;
        m.written = m.removed = false;
        if (m.odd_part >= 0 || !m.modifier->writes_clean()) return false;
        const FieldLocation place = locate_field(m.path, old);
        if (place.depth != m.path.size()) return false;
        const Element& was = place.element;
        const size_t start = scratch_.size();
        if (m.modifier->apply(was, was.name(), scratch_) == Effect::none) continue;
        const Element now(scratch_.data() + start);
        bson::Patch patch;
        if (now.type() != was.type() || now.value_size() != was.value_size()) return false;
        m.written = true;
        patch.offset = static_cast<int32_t>(was.value() - old.data());
        const bool twice =
            std::any_of(result.patches.begin(), result.patches.end(),
                        [&](const bson::Patch& other) { return other.offset == patch.offset; });
        if (twice) return false;  // two spellings of an array index: the tree refuses them
        patch.size = static_cast<int32_t>(now.value_size());
        starts.push_back(static_cast<size_t>(now.value() - scratch_.data()));
        result.patches.push_back(patch);
    }
    for (size_t i = 0; i < starts.size(); ++i) {
        result.patches[i].bytes = scratch_.data() + starts[i];
    }
    return true;
}

std::vector<std::string> OperatorUpdate::touched_paths() const {
    std::vector<std::string> paths;
    const Modifier* last = nullptr;
    for (const Mod& m : mods_) {
        if (!m.written && !m.removed) continue;
        // Elements of one array are one place of an index.
        if (m.modifier == last) continue;
        last = m.modifier;
        std::string path = m.path[0];
        for (size_t i = 1; i < m.path.size(); ++i) {
            path += '.';
            path += m.path[i];
        }
        paths.push_back(std::move(path));
    }
    return paths;
}

bool OperatorUpdate::renames_onto_field(bson::Doc old) const {
    return std::ranges::any_of(mods_, [old](const Mod& m) {
        return m.moved && locate_field(m.path, old).depth == m.path.size();
    });
}

void check_odd_names(const Mod& mod, bson::Doc now) {
    for (auto i = static_cast<size_t>(mod.odd_part); i < mod.path.size(); ++i) {
        if (mod.path[i][0] != '$') continue;
        const auto end = mod.path.begin() + static_cast<std::ptrdiff_t>(i) + 1;
        check_leaf_name({mod.path.begin(), end}, now);
    }
}

// Names that came with the update must be fit for storage; what was there before may stay.
void OperatorUpdate::check_written(std::span<const Mod> mods, bson::Doc now) const {
    for (const Mod& m : mods) {
        if (!m.written && !m.removed) continue;
        sched::tick();
        const bool deep = !m.modifier->writes_clean() || m.path.size() >= kShallow;
        if (m.odd_part >= 0) check_odd_names(m, now);
        if (!m.written || !deep) continue;
        const FieldLocation place = locate_field(m.path, now);
        const Element& e = place.element;
        if (e.is_object() || e.is_array()) {
            check_stored_names(e.as_doc(), e.is_array(), static_cast<int>(m.path.size()) + 1,
                               names_in_documents(dialect_));
        }
    }
}

// Moves `_id` of the document at the end of `out` to its front.
void put_id_first(bson::Buffer& out, size_t start) {
    const bson::Object doc(bson::Doc(out.data() + start));
    out.truncate(start);
    write_with_id_first(doc, doc["_id"], out);
}

UpdateResult OperatorUpdate::changed(bson::Doc old, const MatchDetails& details,
                                     bson::Buffer& out) {
    UpdateResult result;
    set_position(details);
    find_places(old, false);
    if (!renames_ && !dialect_.has(dialect::kInsertPathsAreApart)) check_insert_paths(old);
    if (!renames_ && !tree_) tree_.emplace(mods_, false);
    if (all_scalar_ && !touches_id_ && try_patches(old, result)) {
        result.changed = result.in_place = !result.patches.empty();
        result.touched_paths = touched_paths();
        return result;
    }
    result.patches.clear();
    const size_t start = out.size();
    result.changed = renames_ ? apply_in_turn(old, false, out) : tree_->apply(old, out);
    if (!result.changed) {
        out.truncate(start);
        return result;
    }
    const bson::Doc now(out.data() + start);
    if (!renames_) check_written(mods_, now);
    if (touches_id_) {
        check_same_id(old["_id"], now["_id"]);
        if (now.first().name() != "_id" && now.has("_id")) put_id_first(out, start);
    }
    check_size(bson::Doc(out.data() + start));
    result.touched_paths = touched_paths();
    result.reorders = renames_ && renames_onto_field(old);
    return result;
}

void OperatorUpdate::insert_into(bson::Doc base, bson::Buffer& out) {
    set_position(MatchDetails());
    find_places(base, true);
    if (renames_) {
        apply_in_turn(base, true, out);
    } else {
        ModTree(mods_, true).apply(base, out);
        check_written(mods_, bson::Doc(out.data()));
    }
}

void OperatorUpdate::build_upsert(const Matcher& query, bson::Buffer& out) {
    const UpsertBase base(query, dialect_);
    bson::Buffer changed;
    with_code(dialect_.code(kUpsertFailed, 0), kOfModifiers,
              [&] { insert_into(base.doc(), changed); });
    const bson::Doc now(changed.data());
    const Element id = now["_id"];
    check_id_type(id);
    if (const Element before = base.doc()["_id"]) check_same_id(before, id);
    base.check_names(now);
    write_with_id_first(now, id, out);
}

}  // namespace

std::unique_ptr<Update> Update::parse(bson::Doc u, const Options& options) {
    if (!u.empty() && u.first().name().starts_with('$')) {
        return std::make_unique<OperatorUpdate>(u, options);
    }
    ArrayFilters(options.array_filters, options.collator).check_used();
    if (options.multi) {
        base::fail(base::kFailedToParse, "multi update only works with $ operators");
    }
    return make_replacement(u, options);
}

}  // namespace query

// The operators that add to arrays: $push $pushAll $addToSet.

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <optional>
#include <unordered_set>

#include "base/error.h"
#include "bson/compare.h"
#include "bson/element_writer.h"
#include "bson/field_path.h"
#include "bson/json.h"
#include "dialect/dialect.h"
#include "dialect/updates.h"
#include "query/match/match_tree.h"
#include "query/update/document_check.h"
#include "query/update/elements.h"
#include "query/update/update_modifier.h"
#include "sched/tick.h"

namespace query {

using bson::Element;
using bson::Type;

namespace {

// Adding at the end keeps the existing elements' bytes as they are.
void write_appended(bson::Buffer& out, std::string_view name, const Element& old,
                    const Elements& added) {
    write_header(out, Type::array, name);
    const size_t start = open_doc(out);
    uint32_t index = 0;
    if (old) {
        const bson::Doc array = old.as_doc();
        index = static_cast<uint32_t>(array.field_count());
        out.append(array.data() + 4, static_cast<size_t>(array.size()) - 5);
    }
    for (const Element& e : sched::ticked(added))
        write_value(out, bson::IndexName(index++).view(), e);
    close_doc(out, start);
}

bool all_clean(const Elements& elements) {
    return std::all_of(elements.begin(), elements.end(), names_are_clean);
}

// The order of $push with $sort: whole values, or dotted fields of documents.
class ElementOrder {
  public:
    ElementOrder(const Element& spec, const ValueOrder& order) : order_(order) {
        if (spec.is_number()) {
            const double direction = spec.to_double();
            if (direction != 1 && direction != -1) {
                base::fail(base::kBadValue, "The $sort element value must be either 1 or -1");
            }
            sign_ = direction < 0 ? -1 : 1;
            return;
        }
        if (!spec.is_object()) {
            base::fail(base::kBadValue,
                       "The $sort is invalid: use 1/-1 to sort the whole element, "
                       "or {{field:1/-1}} to sort embedded fields");
        }
        by_field_ = true;
        for (const Element& e : spec.as_doc())
            add_field(e);
        if (fields_.empty()) {
            base::fail(base::kBadValue,
                       "The $sort pattern is empty when it should be a set of "
                       "fields.");
        }
    }

    bool operator()(const Element& a, const Element& b) const {
        if (!by_field_) {
            sched::tick();
            return order_.compare(a, b) * sign_ < 0;
        }
        for (const auto& [path, sign] : sched::ticked(fields_)) {
            const int c = order_.compare(field(a, path), field(b, path)) * sign;
            if (c != 0) return c < 0;
        }
        return false;
    }

  private:
    void add_field(const Element& e) {
        const std::string_view path = e.name();
        if (!e.is_number() || std::abs(e.to_double()) != 1) {
            base::fail(base::kBadValue, "The $sort element value must be either 1 or -1");
        }
        if (path.empty()) base::fail(base::kBadValue, "The $sort field cannot be empty");
        bson::check_path_parts(path);
        if (path.front() == '.' || path.back() == '.' ||
            path.find("..") != std::string_view::npos) {
            base::fail(base::kBadValue,
                       "The $sort field is a dotted field but has an empty part: "
                       "{}",
                       path);
        }
        fields_.emplace_back(path, e.to_double() < 0 ? -1 : 1);
    }

    // A missing field sorts as null.
    static Element field(const Element& value, const std::string& path) {
        static constexpr uint8_t kNull[] = {static_cast<uint8_t>(Type::null), 0};
        Element e;
        if (value.is_object() || value.is_array()) {
            sched::tick_bytes(value.as_doc().size(), sched::PerTick::copied);
            e = value.as_doc().at_path(path);
        }
        return e ? e : Element(kNull);
    }

    ValueOrder order_;
    bool by_field_ = false;
    int sign_ = 1;
    std::vector<std::pair<std::string, int>> fields_;
};

int64_t whole_number(const Element& e, const char* what) {
    if (!e.is_number()) {
        base::fail(base::kBadValue, "The value for {} must be a numeric value not {}", what,
                   bson::to_text(e));
    }
    if (e.type() == Type::number_double) {
        const double d = e.as_double();
        if (std::isnan(d) || d != std::trunc(d)) {
            base::fail(base::kBadValue, "The {} value cannot be fractional: {}", what, d);
        }
    }
    return e.to_int64();
}

class Push : public Modifier {
  public:
    Push(const Element& operand, const ValueOrder& order, dialect::Dialect dialect)
        : values_(order) {
        if (operand.is_object() && operand.as_doc().has("$each")) {
            parse_clauses(operand.as_doc(), dialect);
        } else {
            added_.push_back(operand);
        }
        clean_ = all_clean(added_);
    }
    explicit Push(bson::Doc all) : added_(elements_of(all)), clean_(all_clean(added_)) {}

    Effect apply(const Element& old, std::string_view name, bson::Buffer& out) override {
        require_array(old, "$push");
        if (!slice_ && !order_ && !position_) {
            if (old && added_.empty()) return Effect::none;
            write_appended(out, name, old, added_);
            return Effect::write;
        }
        Elements all = old ? elements_of(old.as_doc()) : Elements{};
        const size_t at = position_ ? place_in(all.size()) : all.size();
        sched::tick_bytes(all.size() + added_.size(), sched::PerTick::converted);
        all.insert(all.begin() + static_cast<std::ptrdiff_t>(at), added_.begin(), added_.end());
        if (order_) std::stable_sort(all.begin(), all.end(), *order_);
        if (slice_) cut(all);
        const bool sorted = order_ && !all.empty();  // counts as a change even if it is none
        if (old && added_.empty() && !sorted && same_elements(all, old.as_doc())) {
            return Effect::none;
        }
        write_array(out, name, all);
        return Effect::write;
    }
    bool writes_clean() const override { return clean_; }

  private:
    void parse_clauses(bson::Doc clauses, dialect::Dialect dialect) {
        for (const Element& e : clauses) {
            const std::string_view clause = e.name();
            if (clause == "$each") {
                if (!e.is_array()) {
                    base::fail(base::kBadValue,
                               "The argument to $each in $push must be an array "
                               "but it was {}",
                               bson::to_text(e));
                }
                added_ = elements_of(e.as_doc());
            } else if (clause == "$slice") {
                once(slice_.has_value(), clause);
                slice_ = whole_number(e, "$slice");
            } else if (clause == "$sort") {
                once(order_.has_value(), clause);
                order_.emplace(e, values_);
            } else if (clause == "$position") {
                once(position_.has_value(), clause);
                const int64_t position = whole_number(e, "$position");
                if (position < 0 && !dialect.has(dialect::kPositionsCountFromEnd)) {
                    base::fail(base::kBadValue, "The $position value in $push must be positive");
                }
                position_ = position;
            } else {
                base::fail(base::kBadValue, "Unrecognized clause in $push: {}", clause);
            }
        }
    }

    static bool same_elements(const Elements& now, bson::Doc before) {
        auto it = before.begin();
        for (const Element& e : now) {
            if (it == before.end() || it->raw() != e.raw()) return false;
            ++it;
        }
        return it == before.end();
    }

    static void once(bool seen, std::string_view clause) {
        if (seen) base::fail(base::kBadValue, "Only one {} is supported.", clause);
    }

    size_t place_in(size_t size) const {
        const auto end = static_cast<int64_t>(size);
        return static_cast<size_t>(*position_ >= 0 ? std::min(*position_, end)
                                                   : std::max<int64_t>(end + *position_, 0));
    }

    void cut(Elements& all) const {
        const auto size = static_cast<int64_t>(all.size());
        if (*slice_ >= 0) {
            if (*slice_ < size) all.resize(static_cast<size_t>(*slice_));
        } else if (*slice_ > -size) {
            all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(size + *slice_));
        }
    }

    ValueOrder values_;
    Elements added_;
    std::optional<int64_t> slice_;
    std::optional<int64_t> position_;  // negative: from the end
    std::optional<ElementOrder> order_;
    bool clean_ = false;
};

class AddToSet : public Modifier {
  public:
    AddToSet(const Element& operand, FieldNames names, const ValueOrder& order)
        : names_(names), order_(order) {
        if (operand.is_object() && operand.as_doc().first().name() == "$each") {
            // Further clauses of $push are ignored here.
            const bson::Doc clauses = operand.as_doc();
            if (!clauses.first().is_array()) {
                base::fail(base::kBadValue, "$each requires an array value in $addToSet");
            }
            ElementSet seen(order);
            for (const Element& e : clauses.first().as_doc()) {
                if (seen.insert(e)) added_.push_back(e);
            }
        } else {
            added_.push_back(operand);
        }
        clean_ = all_clean(added_);
    }

    Effect apply(const Element& old, std::string_view name, bson::Buffer& out) override {
        if (!clean_) check_names();
        require_array(old, "$addToSet");
        if (!old) {
            write_appended(out, name, old, added_);
            return Effect::write;
        }
        Elements missing = added_;
        if (missing.size() == 1) {
            if (any_equal(old.as_doc(), missing[0])) missing.clear();
        } else {
            ElementSet present(order_);
            for (const Element& e : old.as_doc())
                present.insert(e);
            std::erase_if(missing, [&](const Element& e) { return present.contains(e); });
        }
        if (missing.empty()) return Effect::none;
        write_appended(out, name, old, missing);
        return Effect::write;
    }
    bool writes_clean() const override { return clean_; }

  private:
    bool any_equal(bson::Doc array, const Element& value) const {
        for (const Element& e : sched::ticked(array)) {
            if (order_.equal(e, value)) return true;
        }
        return false;
    }

    void check_names() const {
        for (const Element& e : added_) {
            if (e.is_object() || e.is_array())
                check_stored_names(e.as_doc(), e.is_array(), 2, names_);
        }
    }

    const FieldNames names_;
    const ValueOrder order_;
    Elements added_;
    bool clean_ = false;
};

}  // namespace

std::unique_ptr<Modifier> make_push(const Element& operand, const ValueOrder& order,
                                    dialect::Dialect dialect) {
    return std::make_unique<Push>(operand, order, dialect);
}

std::unique_ptr<Modifier> make_push_all(const Element& operand) {
    if (!operand.is_array()) {
        base::fail(base::kBadValue, "$pushAll requires an array of values but was given {}",
                   bson::to_text(operand));
    }
    return std::make_unique<Push>(operand.as_doc());
}

std::unique_ptr<Modifier> make_add_to_set(const Element& operand, FieldNames names,
                                          const ValueOrder& order) {
    return std::make_unique<AddToSet>(operand, names, order);
}

}  // namespace query

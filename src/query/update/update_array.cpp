// The operators on arrays: $push $pushAll $addToSet $pop $pull $pullAll.

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
#include "query/update/update_modifier.h"
#include "sched/tick.h"

namespace query {

using bson::Element;
using bson::Type;

namespace {

using Elements = sched::Vector<Element>;

// Elements moved in the time of a tick (sched/tick.h), about.
constexpr size_t kPerTick = 32;

Elements elements_of(bson::Doc array) {
    Elements out;
    for (const Element& e : array) {
        sched::tick();
        out.push_back(e);
    }
    return out;
}

void require_array(const Element& old, const char* op, int code = base::kBadValue) {
    if (old && !old.is_array()) {
        base::fail(code, "The field '{}' must be an array but is {}: {} needs an array", old.name(),
                   bson::to_text(old), op);
    }
}

void write_array(bson::Buffer& out, std::string_view name, const Elements& elements) {
    write_header(out, Type::array, name);
    const size_t start = open_doc(out);
    uint32_t index = 0;
    for (const Element& e : elements) {
        sched::tick();
        write_value(out, bson::IndexName(index++).view(), e);
    }
    close_doc(out, start);
}

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
    for (const Element& e : added) {
        sched::tick();
        write_value(out, bson::IndexName(index++).view(), e);
    }
    close_doc(out, start);
}

bool all_clean(const Elements& elements) {
    return std::all_of(elements.begin(), elements.end(), names_are_clean);
}

// Values to look up among, under a collation if there is one; the elements have to stay where they
// are.
class ValueSet {
  public:
    explicit ValueSet(const ValueOrder& order)
        : collator_(order.collator), values_(0, bson::ValueHash(), Equal{order.dialect}) {}

    // Whether it is a new one.
    bool insert(const Element& e) {
        if (!has_key(e)) return values_.insert(e).second;
        bson::Object key = collator_->key_of(e);
        if (values_.contains(key.doc().first())) return false;
        keys_.push_back(std::move(key));
        return values_.insert(keys_.back().doc().first()).second;
    }
    bool contains(const Element& e) const {
        if (!has_key(e)) return values_.contains(e);
        return values_.contains(collator_->key_of(e).doc().first());
    }

  private:
    struct Equal {
        dialect::Dialect dialect;
        bool operator()(const Element& a, const Element& b) const {
            return ValueOrder{nullptr, dialect}.equal(a, b);
        }
    };

    bool has_key(const Element& e) const { return collator_ != nullptr && collation::has_text(e); }

    const collation::Collator* collator_;
    std::unordered_set<Element, bson::ValueHash, Equal> values_;
    std::deque<bson::Object> keys_;  // of values with texts
};

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
        for (const auto& [path, sign] : fields_) {
            sched::tick();
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
        constexpr int32_t kBytesPerTick = 1024;
        Element e;
        if (value.is_object() || value.is_array()) {
            sched::tick(1 + value.as_doc().size() / kBytesPerTick);
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
        sched::tick(static_cast<int64_t>((all.size() + added_.size()) / kPerTick));
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
            ValueSet seen(order);
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
            ValueSet present(order_);
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
        for (const Element& e : array) {
            sched::tick();
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

// Operators that only take elements away.
class Remover : public Modifier {
  public:
    bool creates() const override { return false; }
    bool writes_clean() const override { return true; }
};

class Pop : public Remover {
  public:
    Pop(bool front, int code_of_others) : front_(front), code_of_others_(code_of_others) {}
    Effect apply(const Element& old, std::string_view name, bson::Buffer& out) override {
        require_array(old, "$pop", code_of_others_);
        if (!old) return Effect::none;
        Elements all = elements_of(old.as_doc());
        if (all.empty()) return Effect::none;
        all.erase(front_ ? all.begin() : all.end() - 1);
        write_array(out, name, all);
        return Effect::write;
    }

  private:
    bool front_;
    int code_of_others_;  // than arrays
};

class Puller : public Remover {
  public:
    Effect apply(const Element& old, std::string_view name, bson::Buffer& out) override {
        require_array(old, "$pull");
        if (!old) return Effect::none;
        Elements kept;
        bool dropped = false;
        for (const Element& e : old.as_doc()) {
            sched::tick();
            if (selects(e)) {
                dropped = true;
            } else {
                kept.push_back(e);
            }
        }
        if (!dropped) return Effect::none;
        write_array(out, name, kept);
        return Effect::write;
    }

  protected:
    virtual bool selects(const Element& e) = 0;
};

class PullAll : public Puller {
  public:
    PullAll(bson::Doc values, const ValueOrder& order) : values_(order) {
        for (const Element& e : values)
            values_.insert(e);
    }

  protected:
    bool selects(const Element& e) override { return values_.contains(e); }

  private:
    ValueSet values_;
};

class PullEqual : public Puller {
  public:
    PullEqual(const Element& value, const ValueOrder& order) : value_(value), order_(order) {}

  protected:
    bool selects(const Element& e) override { return order_.equal(value_, e); }

  private:
    Element value_;
    const ValueOrder order_;
};

// {$pull: {a: {x: 1}}}: elements that are documents, as a query selects documents.
class PullObjects : public Puller {
  public:
    PullObjects(bson::Doc filter, const ExpressionParser* expressions,
                std::shared_ptr<const collation::Collator> collator)
        : matcher_(Matcher::parse(filter, expressions, std::move(collator))) {}

  protected:
    bool selects(const Element& e) override {
        return e.is_object() && matcher_->matches(e.as_doc());
    }

  private:
    std::unique_ptr<Matcher> matcher_;
};

// {$pull: {a: {$gt: 1}}} and regular expressions: any element, as a query selects a field's value.
class PullValues : public Puller {
  public:
    PullValues(const Element& condition, const ExpressionParser* expressions,
               std::shared_ptr<const collation::Collator> collator) {
        bson::Builder filter;
        filter.append_as(kField, condition);
        matcher_ = Matcher::parse(filter.doc(), expressions, std::move(collator));
    }

  protected:
    bool selects(const Element& e) override {
        wrapped_.clear();
        const size_t start = open_doc(wrapped_);
        write_value(wrapped_, kField, e);
        close_doc(wrapped_, start);
        return matcher_->matches(bson::Doc(wrapped_.data()));
    }

  private:
    static constexpr std::string_view kField = "v";
    std::unique_ptr<Matcher> matcher_;
    bson::Buffer wrapped_;
};

// Operators that may start a condition on a single value.
bool is_value_operator(std::string_view name, dialect::Dialect dialect) {
    if (dialect.has(dialect::kPullTakesConditions) && (name == "$eq" || BitTest::is_one(name)))
        return true;
    static constexpr std::string_view kNames[] = {
        "$lt",   "$lte",    "$gt",   "$gte", "$ne",    "$in",      "$nin",      "$mod",
        "$size", "$exists", "$type", "$all", "$regex", "$options", "$elemMatch"};
    return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

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

std::unique_ptr<Modifier> make_pop(const Element& operand, int code_of_others) {
    return std::make_unique<Pop>(operand.is_number() && operand.to_double() < 0, code_of_others);
}

bool pulls_values(const Element& condition) {
    return condition.type() == Type::regex ||
           (condition.is_object() &&
            is_value_operator(condition.as_doc().first().name(), dialect::kToday));
}

std::unique_ptr<Modifier> make_pull(const Element& operand, const ExpressionParser* expressions,
                                    const std::shared_ptr<const collation::Collator>& collator) {
    const dialect::Dialect dialect = expressions != nullptr ? dialect::kToday : dialect::kV26;
    if (operand.type() == Type::regex)
        return std::make_unique<PullValues>(operand, expressions, collator);
    if (!operand.is_object())
        return std::make_unique<PullEqual>(operand, ValueOrder{collator.get(), dialect});
    if (is_value_operator(operand.as_doc().first().name(), dialect))
        return std::make_unique<PullValues>(operand, expressions, collator);
    return std::make_unique<PullObjects>(operand.as_doc(), expressions, collator);
}

std::unique_ptr<Modifier> make_pull_all(const Element& operand, const ValueOrder& order) {
    if (!operand.is_array()) {
        base::fail(base::kBadValue, "$pullAll requires an array argument but was given {}",
                   bson::to_text(operand));
    }
    return std::make_unique<PullAll>(operand.as_doc(), order);
}

}  // namespace query

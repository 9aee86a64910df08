// The operators that take elements of arrays away: $pop $pull $pullAll.

#include <algorithm>

#include "base/error.h"
#include "bson/element_writer.h"
#include "bson/json.h"
#include "dialect/dialect.h"
#include "dialect/updates.h"
#include "query/match/match_tree.h"
#include "query/match/no_near.h"
#include "query/update/elements.h"
#include "query/update/update_modifier.h"
#include "sched/tick.h"

namespace query {

using bson::Element;
using bson::Type;

namespace {

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
        for (const Element& e : sched::ticked(old.as_doc())) {
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
    ElementSet values_;
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
        : matcher_(Matcher::parse(filter, expressions, std::move(collator))) {
        refuse_near(*matcher_);
    }

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
        refuse_near(*matcher_);
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

// query/update/update_modifier.h - one update operator bound to its operand: old value in, new
// value out.
//
// A Modifier knows nothing of paths; query/update/update_tree.h finds the places. Modifiers are
// made by query/update/update_operators.cpp and keep views into the update document that the Update
// owns.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bson/builder.h"
#include "bson/compare.h"
#include "bson/order_of_today.h"
#include "bson/view.h"
#include "dialect/dialect.h"
#include "dialect/filters.h"
#include "query/match/match_expression.h"
#include "query/update/document_check.h"

namespace query {

enum class Effect {
    none,    // the value stays as it is
    write,   // a new element was appended to the output
    remove,  // the field goes (an array element becomes null)
};

class Modifier : public sched::Counted {
  public:
    virtual ~Modifier() = default;
    // Appends `name: new value` to `out` where it returns write. `old` is missing where the path
    // does not exist (then only called if creates()). Throws base::Error 2 or 14.
    virtual Effect apply(const bson::Element& old, std::string_view name, bson::Buffer& out) = 0;
    // Whether a missing field appears.
    virtual bool creates() const { return true; }
    // Whether a path through a scalar is no error but simply nothing to do ($unset).
    virtual bool tolerates_bad_path() const { return false; }
    // Puts one value in the place of another, so that a change in place is worth trying.
    virtual bool scalar() const { return false; }
    // The values written come from the operand, and that holds no name that needs checking.
    virtual bool writes_clean() const { return false; }
};

// The second half of $rename: writes a value that the engine took from elsewhere in the document.
class MovedValue : public Modifier {
  public:
    void set(const bson::Element& value) { value_ = value; }
    Effect apply(const bson::Element& old, std::string_view name, bson::Buffer& out) override;

  private:
    bson::Element value_;
};

// How an update compares values: texts under a collation, which must outlive the modifier (null: by
// their bytes), Dates and Timestamps as two classes or as one.
struct ValueOrder {
    const collation::Collator* collator = nullptr;
    dialect::Dialect dialect = dialect::kV26;

    int compare(const bson::Element& a, const bson::Element& b) const {
        if (collator != nullptr && collation::has_text(a) && collation::has_text(b))
            return ValueOrder{nullptr, dialect}.compare(collator->key_of(a).doc().first(),
                                                        collator->key_of(b).doc().first());
        return dialect.has(dialect::kTimesAreTwoClasses) ? bson::compare_values_of_today(a, b)
                                                         : bson::compare_values(a, b);
    }
    bool equal(const bson::Element& a, const bson::Element& b) const { return compare(a, b) == 0; }
};

// Each throws base::Error with the code of a bad operand. `operand` must outlive the modifier.
// `keeps_equal`: what is there stays where it is equal, of whatever numeric type; else only where
// it is the same byte for byte.
std::unique_ptr<Modifier> make_set(const bson::Element& operand, bool keeps_equal = true);
std::unique_ptr<Modifier> make_unset();
std::unique_ptr<Modifier> make_inc(const bson::Element& operand, bool decimals);
std::unique_ptr<Modifier> make_mul(const bson::Element& operand, bool decimals);
std::unique_ptr<Modifier> make_min(const bson::Element& operand, const ValueOrder& order);
std::unique_ptr<Modifier> make_max(const bson::Element& operand, const ValueOrder& order);
std::unique_ptr<Modifier> make_bit(const bson::Element& operand);
std::unique_ptr<Modifier> make_current_date(const bson::Element& operand);
// To today's clients a negative position counts from the end.
std::unique_ptr<Modifier> make_push(const bson::Element& operand, const ValueOrder& order,
                                    dialect::Dialect dialect);
std::unique_ptr<Modifier> make_push_all(const bson::Element& operand);
std::unique_ptr<Modifier> make_add_to_set(const bson::Element& operand, FieldNames names,
                                          const ValueOrder& order);
// `code_of_others`: of the error where there is something else than an array.
std::unique_ptr<Modifier> make_pop(const bson::Element& operand, int code_of_others);
// Whether it is a condition on values, to clients of today, or else one on documents.
bool pulls_values(const bson::Element& condition);
// `expressions`: as for Matcher::parse.
std::unique_ptr<Modifier> make_pull(const bson::Element& operand,
                                    const ExpressionParser* expressions,
                                    const std::shared_ptr<const collation::Collator>& collator);
std::unique_ptr<Modifier> make_pull_all(const bson::Element& operand, const ValueOrder& order);

}  // namespace query

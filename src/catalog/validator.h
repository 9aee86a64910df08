// catalog/validator.h - what documents of a collection have to look like: the options validator,
// validationLevel and validationAction of create and collMod.
//
// They are kept among the stored options, in which the old server looks for nothing of that name.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "bson/builder.h"
#include "query/match/match_expression.h"
#include "query/match/match_tree.h"

namespace catalog {

class Validator {
  public:
    // Returns the validator that the stored options ask for; null: they ask for none. It throws
    // nothing for what they say: where a filter cannot be read, every document is refused with the
    // reason. `expressions` reads $expr and outlives this; null: there is none. `collator`: that of
    // the collection; null: none.
    static std::unique_ptr<const Validator> of(
        bson::Doc options, const query::ExpressionParser* expressions,
        std::shared_ptr<const collation::Collator> collator = nullptr);

    // Checks `doc` before it is stored in the collection `ns`; `before`: the document that it
    // replaces; null: it is a new one. Throws base::Error 121 with the details `errInfo`, and what
    // the filter throws; by the action "warn" it writes a line to the log instead of 121. Threads
    // wait for each other.
    void check(std::string_view ns, bson::Doc doc, const bson::Doc* before) const;

  private:
    Validator() = default;

    mutable std::mutex mutex_;                      // held while filter_ works
    std::unique_ptr<const query::Matcher> filter_;  // null: it has a fault
    std::string fault_;
    const query::ExpressionParser* expressions_ = nullptr;
    std::shared_ptr<const collation::Collator> collator_;
    bool spares_unfit_ = false;  // moderate: what did not fit before may change
    bool only_warns_ = false;
};

// Checks the three options before they are stored. Throws base::Error 2, 14 and 72, and what
// query::Matcher throws for a bad filter.
void check_validation(std::string_view ns, bson::Doc options,
                      const query::ExpressionParser* expressions);
bool is_validation_option(std::string_view name);

}  // namespace catalog

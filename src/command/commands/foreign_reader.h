// command/commands/foreign_reader.h - how the stages of a pipeline read other collections of its
// database.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "command/context/operation_context.h"
#include "query/aggregation/foreign.h"

namespace command {

// Reads some documents at a time, each time under a lock of its own. No other is held then: the
// pipeline has saved its query and given its lock up. So others may drop or rename the collection
// between two reads: that ends what reads it (error 17356), and what begins later finds nothing.
class ForeignReader final : public query::ForeignCollections {
  public:
    explicit ForeignReader(std::string_view db) : db_(db) {}

    // Who pulls the pipeline from now on.
    void set_context(OperationContext& context) { context_ = &context; }
    void connect(std::string_view collection, query::Pipeline& stages) override;

  private:
    const std::string db_;
    OperationContext* context_ = nullptr;
};

// Whether `holds` is true of each collection that the stages read besides their own.
bool all_foreign(bson::Doc stages, const std::function<bool(std::string_view)>& holds);

}  // namespace command

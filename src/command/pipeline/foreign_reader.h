// command/pipeline/foreign_reader.h - how the stages of a pipeline read other collections of its
// database.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "command/context/operation_context.h"
#include "command/pipeline/resolved_view.h"
#include "query/stage/foreign.h"

namespace command {

// Reads some documents at a time, each time under a lock of its own. No other is held then: the
// pipeline has saved its query and given its lock up. Others may therefore drop or rename the
// collection between two reads: a pipeline that reads it then ends (error 17356), and one that
// begins later finds nothing.
class ForeignReader final : public query::ForeignCollections {
  public:
    // `scratch`: where the stages of views may write what they cannot hold; empty: they may not.
    ForeignReader(std::string_view db, std::string scratch)
        : ForeignReader(db, std::move(scratch), std::make_shared<OperationContext*>(), 0) {}

    // Sets the operation that pulls the pipeline from now on.
    void set_context(OperationContext& context) { *context_ = &context; }
    void connect(std::string_view collection, query::Pipeline& stages) override;

  private:
    ForeignReader(std::string_view db, std::string scratch,
                  std::shared_ptr<OperationContext*> context, int views)
        : db_(db), scratch_(std::move(scratch)), context_(std::move(context)), views_(views) {}
    void connect_source(const std::string& ns, query::Pipeline& stages);
    void connect_view(const ResolvedView& view, query::Pipeline& stages);

    const std::string db_;
    const std::string scratch_;
    // Shared with those that read for the views.
    const std::shared_ptr<OperationContext*> context_;
    const int views_;  // around what this one reads
};

// Whether `holds` is true of each collection that the stages read besides their own.
bool all_foreign(bson::Doc stages, const std::function<bool(std::string_view)>& holds);
// Whether there is any.
bool reads_others(bson::Doc stages);

}  // namespace command

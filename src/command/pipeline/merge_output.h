// command/pipeline/merge_output.h - $merge: each result is put together with a document of another
// collection, or inserted there.
#pragma once

#include <string>

#include "collation/collator.h"
#include "command/pipeline/result_writer.h"
#include "command/request/fields_of_today.h"
#include "command/request/invocation.h"
#include "query/stage/output.h"

namespace command {

// Each result is a write of its own: what was done before an error stays. If the pipeline reads the
// same collection, it may come upon what it has written.
class MergeOutput final : public ResultWriter {
  public:
    // `output`: of the pipeline whose results it stores. `collator`: of that pipeline. Throws
    // base::Error 73, 31319 and 31320 for a name that is not for users, 166 for a view, 51183 where
    // no unique index says that there is one document at most for each result.
    MergeOutput(Invocation& invocation, const query::PipelineOutput& output,
                std::shared_ptr<const collation::Collator> collator, Validation validation);

    // Throws base::Error 13113 where there must be a document and is none.
    void fill(PipelineSource& source) override;

  private:
    void check_target() const;
    bool has_unique_index(const catalog::Collection* collection) const;
    bool is_over(const catalog::Index& index) const;
    void store(bson::Doc result);
    void insert(bson::Doc result);
    void update(bson::Doc result);

    Client& client_;
    query::MergeSpec& spec_;
    const std::string target_;
    const std::shared_ptr<const collation::Collator> collator_;
    const Validation validation_;
    bson::Buffer fixed_;
};

}  // namespace command

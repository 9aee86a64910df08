// command/pipeline/output_collection.h - $out: results go into a new collection that takes the
// target's place at the end. mapReduce stores its own so, too.
#pragma once

#include <functional>
#include <string>

#include "command/pipeline/result_writer.h"
#include "command/request/fields_of_today.h"
#include "command/request/invocation.h"
#include "dialect/dialect.h"
#include "query/stage/output.h"

namespace command {

class OutputCollection final : public ResultWriter {
  public:
    // Whose results they are. Those of mapReduce may take the place of a capped collection, have
    // any `_id`, and are left out where a unique index has their key already.
    enum class Of : bool { pipeline, map_reduce };

    // Throws base::Error 16997, 17385, 31321 and 73 for a name that no such collection can have.
    OutputCollection(Invocation& invocation, const query::OutputTarget& target,
                     Validation validation, Of of = Of::pipeline);

    // Writes every result, or changes nothing.
    void fill(PipelineSource& source) override;
    // The same with those that `next` appends, one by one, until it returns false.
    using Next = std::function<bool(bson::Buffer& out)>;
    void fill_from(const Next& next);

  private:
    void create();
    void refuse_capped(const catalog::Collection* old) const;
    catalog::Database* database() const;
    catalog::Collection* find() const;
    catalog::Collection& found() const;
    void insert_all(const Next& next);
    void insert(const bson::Buffer& results);
    void insert(catalog::Collection& output, bson::Doc doc);
    void replace_target();

    Client& client_;
    CursorManager& cursors_;
    const dialect::Dialect dialect_;
    const Validation validation_;
    const Of of_;
    const std::string db_;
    const std::string target_;
    const std::string temporary_;
    uint64_t incarnation_ = 0;  // of the temporary collection
    bson::Buffer fixed_;
};

}  // namespace command

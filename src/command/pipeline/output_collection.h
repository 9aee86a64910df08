// command/pipeline/output_collection.h - $out: results go into a new collection that takes the
// target's place at the end.
#pragma once

#include <string>

#include "command/pipeline/result_writer.h"
#include "command/request/fields_of_today.h"
#include "command/request/invocation.h"
#include "dialect/dialect.h"
#include "query/stage/output.h"

namespace command {

class OutputCollection final : public ResultWriter {
  public:
    // Throws base::Error 16997, 17385, 31321 and 73 for a name that no such collection can have.
    OutputCollection(Invocation& invocation, const query::OutputTarget& target,
                     Validation validation);

    // Writes every result, or changes nothing.
    void fill(PipelineSource& source) override;

  private:
    void create();
    void refuse_capped(const catalog::Collection* old) const;
    catalog::Database* database() const;
    catalog::Collection* find() const;
    catalog::Collection& found() const;
    void insert_all(PipelineSource& source);
    void insert(const bson::Buffer& results);
    void insert(catalog::Collection& output, bson::Doc doc);
    void replace_target();

    Client& client_;
    CursorManager& cursors_;
    const dialect::Dialect dialect_;
    const Validation validation_;
    const std::string db_;
    const std::string target_;
    const std::string temporary_;
    uint64_t incarnation_ = 0;  // of the temporary collection
    bson::Buffer fixed_;
};

}  // namespace command

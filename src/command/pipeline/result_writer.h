// command/pipeline/result_writer.h - where the results of a pipeline go instead of to the client.
#pragma once

#include "command/pipeline/pipeline_source.h"

namespace command {

class ResultWriter {
  public:
    virtual ~ResultWriter() = default;
    // Stores all results. REQUIRES: `source` holds no lock.
    virtual void fill(PipelineSource& source) = 0;
};

}  // namespace command

// command/cursor/batch.h - filling one batch of a cursor into a reply.
#pragma once

#include <cstdint>
#include <memory>

#include "bson/builder.h"
#include "command/cursor/cursors.h"
#include "wire/message.h"

namespace command {

struct BatchLimits {
    int64_t documents = -1;  // -1: no limit
    int64_t bytes = 0;       // no further document once this is exceeded (the old way), or
    int64_t max_bytes = 0;   // a document that would exceed this goes into the next batch; 0: none
    bool may_be_empty = false;  // that holds for the first one, too
};

// Appends documents of the cursor to an open array, its elements named "0", "1", ... Returns how
// many. It sets *exhausted if nothing more will come now.
int64_t fill_array(Cursor& cursor, const BatchLimits& limits, bson::Builder& array,
                   bool* exhausted);

// The same for the documents of an OP_REPLY.
int64_t fill_reply(Cursor& cursor, const BatchLimits& limits, wire::ReplyWriter& reply,
                   bson::Buffer& out, bool* exhausted);

// Whether nothing follows the last batch, as far as that is known without a search.
bool is_exhausted(Cursor& cursor);

// The largest batch of cursor commands: a full-size document and its wrapper always fit.
constexpr int64_t kBatchBytesMax = bson::kDocumentBytesMax;
constexpr int64_t kFirstBatchDocuments = 101;

// Appends { cursor: { firstBatch: [...], id, ns }, }: opens a cursor over `cursor->source`, keeps
// it if it is not exhausted. It is for sources that hold no lock.
void reply_with_cursor(CursorManager& cursors, OperationContext& context,
                       std::unique_ptr<Cursor> cursor, int64_t batch_size, bson::Builder& reply);

}  // namespace command

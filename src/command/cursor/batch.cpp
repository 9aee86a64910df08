#include "command/cursor/batch.h"

#include "base/dcheck.h"
#include "base/error.h"
#include "command/context/operation_context.h"

namespace command {

namespace {

// The document in `pending`, or the next of the source, appended to `out`; false at the end.
bool next_document(Cursor& cursor, bson::Buffer& out) {
    if (cursor.pending.size() == 0) return cursor.source->next(out);
    out.append(cursor.pending.data(), cursor.pending.size());
    cursor.pending.clear();
    return true;
}

// Calls `open` before each document (it may write a header); the document follows in `out`.
template <typename Open>
int64_t fill(Cursor& cursor, const BatchLimits& limits, bson::Buffer& out, bool* exhausted,
             Open&& open) {
    const size_t start = out.size();
    int64_t count = 0;
    DCHECK(limits.bytes == 0 || limits.max_bytes == 0);
    *exhausted = false;
    while (limits.documents < 0 || count < limits.documents) {
        const size_t before = out.size();
        if (limits.bytes > 0 && static_cast<int64_t>(before - start) > limits.bytes) return count;
        open();
        const size_t document = out.size();
        if (!next_document(cursor, out)) {
            out.truncate(before);
            *exhausted = true;
            return count;
        }
        if (limits.max_bytes > 0 && (count > 0 || limits.may_be_empty) &&
            static_cast<int64_t>(out.size() - start) > limits.max_bytes) {
            DCHECK(cursor.pending.size() == 0);
            if (!cursor.source->put_back())
                cursor.pending.append(out.data() + document, out.size() - document);
            out.truncate(before);
            return count;
        }
        ++count;
        ++cursor.returned;
    }
    return count;
}

}  // namespace

int64_t fill_array(Cursor& cursor, const BatchLimits& limits, bson::Builder& array,
                   bool* exhausted) {
    return fill(cursor, limits, array.buffer(), exhausted,
                [&array] { array.bytes(bson::Type::object, array.next().view(), {}); });
}

int64_t fill_reply(Cursor& cursor, const BatchLimits& limits, wire::ReplyWriter& reply,
                   bson::Buffer& out, bool* exhausted) {
    BatchLimits rest = limits;
    if (rest.bytes > 0) rest.bytes -= static_cast<int64_t>(reply.size());  // its header counts
    const int64_t count = fill(cursor, rest, out, exhausted, [] {});
    for (int64_t i = 0; i < count; ++i)
        reply.next_document();
    return count;
}

bool is_exhausted(Cursor& cursor) {
    if (cursor.pending.size() != 0) return false;
    return cursor.tailable ? cursor.source->at_end() : !cursor.source->more_to_come();
}

void reply_with_cursor(CursorManager& cursors, OperationContext& context,
                       std::unique_ptr<Cursor> cursor, int64_t batch_size, bson::Builder& reply) {
    DCHECK(!cursor->source->reads_collections());
    BatchLimits limits;
    limits.documents = batch_size;
    limits.max_bytes = kBatchBytesMax;
    bool exhausted = false;
    bson::Builder out = reply.sub_object("cursor");
    const std::string ns = cursor->ns;
    {
        bson::Builder batch = out.sub_array("firstBatch");
        fill_array(*cursor, limits, batch, &exhausted);
    }
    const bool done = exhausted || (cursor->source->at_end() && cursor->pending.size() == 0);
    cursor->returned = 0;  // OP_GET_MORE counts from here
    note_opener(*cursor, context);
    out.append("id", int64_t{0});
    const size_t id_offset = out.buffer().size() - sizeof(int64_t);
    out.append("ns", ns);
    if (done) return;
    // Nothing fails from here on: the client learns the cursor's id.
    const int64_t id = cursors.add(std::move(cursor));
    context.report().left_open = id;
    out.buffer().store<int64_t>(id_offset, id);
}

}  // namespace command

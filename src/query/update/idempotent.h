// query/update/idempotent.h - an update as a log of writes records it: values instead of what was
// done to them, so that applying it again changes nothing more.
//
// Promise, for entries that are applied in their order from any one of them on: a document that has
// seen them all already, or some of the first, ends with the values that it had after the last. Not
// promised on that way is the order of fields, and that each step can be done: where a later entry
// has put a scalar in the place of an object, an earlier one may find no place for its field (error
// 28, by the old messages 16837). Applied once, to the document that it was made from, an entry
// gives the same bytes.
#pragma once

#include "bson/builder.h"
#include "query/update/update.h"

namespace query {

// {$set: {path: value, ...}, $unset: {path: true, ...}}, with a $push that only shortens arrays
// where an update by a pipeline did (document_difference.h); or the whole document as it is
// afterwards: of a replacement; of what would take more space or time than that; of an update that
// has changed the order of fields that stay; and where a number has become one of another type that
// equals it, which $set leaves as it was. `result` is that of the last apply() of `update` to
// `before`, which changed something and has written to `changed`. Writes to `out`, whose content is
// lost, and returns a view of it, or the updated_document(), which is in `changed`.
bson::Doc idempotent_form(const Update& update, const UpdateResult& result, bson::Doc before,
                          bson::Buffer& changed, bson::Buffer& out);

}  // namespace query

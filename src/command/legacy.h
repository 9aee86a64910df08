// command/legacy.h - the old opcodes: reads by OP_QUERY and OP_GET_MORE, writes without a reply
// (wire spec 1.3, 3.9, 3.10).
#pragma once

#include "command/session.h"
#include "wire/message.h"

namespace command {

// Serve one request; failures are thrown as base::Error. The reply is one OP_REPLY at the end of
// `reply`.
void legacy_query(ClientSession& session, const wire::QueryMessage& query, bson::Buffer& reply);
// Returns true if the request has to wait for new data (nothing was written then).
bool legacy_get_more(ClientSession& session, const wire::GetMoreMessage& message,
                     bson::Buffer& reply);
void legacy_insert(ClientSession& session, const wire::InsertMessage& message);
void legacy_update(ClientSession& session, const wire::UpdateMessage& message);
void legacy_delete(ClientSession& session, const wire::DeleteMessage& message);
void legacy_kill_cursors(ClientSession& session, const wire::KillCursorsMessage& message);

}  // namespace command

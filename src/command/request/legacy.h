// command/request/legacy.h - the old opcodes: reads by OP_QUERY and OP_GET_MORE, writes without a
// reply (wire spec 1.3, 3.9, 3.10).
#pragma once

#include "bson/builder.h"
#include "wire/message.h"

namespace command {

class Client;
class Service;

// Serve one request; failures are thrown as base::Error. The reply is one OP_REPLY at the end of
// `reply`.
void legacy_query(Service& service, Client& client, const wire::QueryMessage& query,
                  bson::Buffer& reply);
// Returns true if the request has to wait for new data (nothing was written then).
bool legacy_get_more(Service& service, Client& client, const wire::GetMoreMessage& message,
                     bson::Buffer& reply);
void legacy_insert(Service& service, Client& client, const wire::InsertMessage& message);
void legacy_update(Service& service, Client& client, const wire::UpdateMessage& message);
void legacy_delete(Service& service, Client& client, const wire::DeleteMessage& message);
void legacy_kill_cursors(Service& service, Client& client, const wire::KillCursorsMessage& message);

}  // namespace command

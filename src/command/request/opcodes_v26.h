// command/request/opcodes_v26.h - the old opcodes: reads by OP_QUERY and OP_GET_MORE, writes
// without a reply (wire spec 1.3, 3.9, 3.10).
#pragma once

#include <string_view>

#include "bson/builder.h"
#include "storage/fsync_lock.h"
#include "wire/message.h"

namespace command {

class Client;
class CursorManager;
class DatabaseOpener;
class OperationContexts;
struct OpCounters;

// Serve one request; failures are thrown as base::Error. The reply is one OP_REPLY at the end of
// `reply`.

// Serves inprog, killop and unlock, asked by a query on a collection that does not exist.
// Characters that follow these names change nothing. Returns false, having done nothing, where it
// is another name.
bool pseudo_query_v26(OperationContexts& contexts, storage::FsyncLock& fsync_lock, Client& client,
                      const wire::QueryMessage& query, bson::Buffer& reply);
// `host`: what an explanation shows as the server.
void query_v26(DatabaseOpener& opener, CursorManager& cursors, std::string_view host,
               Client& client, const wire::QueryMessage& query, bson::Buffer& reply);
// Returns true if the request has to wait for new data (nothing was written then).
bool get_more_v26(CursorManager& cursors, Client& client, const wire::GetMoreMessage& message,
                  bson::Buffer& reply);
void insert_v26(DatabaseOpener& opener, OpCounters& counters, Client& client,
                const wire::InsertMessage& message);
void update_v26(DatabaseOpener& opener, OpCounters& counters, Client& client,
                const wire::UpdateMessage& message);
void delete_v26(DatabaseOpener& opener, OpCounters& counters, Client& client,
                const wire::DeleteMessage& message);
void kill_cursors_v26(CursorManager& cursors, Client& client,
                      const wire::KillCursorsMessage& message);

}  // namespace command

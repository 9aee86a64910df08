// command/request/authorization.h - authorization: the one place that decides it, for commands and
// for the old opcodes.
//
// If there is no access control (--auth), nothing is asked but where a command may come from; that
// costs a branch. If there is, every request needs a user who may do it: what a command needs
// stands in its table (Need in command/request/command.h), and one without such an entry is
// refused. A client on this machine may create the first user in admin, and nothing else before
// (the localhost exception).
#pragma once

#include <cstdint>
#include <string_view>

#include "auth/actions.h"
#include "bson/builder.h"
#include "command/request/command.h"
#include "command/request/invocation.h"
#include "wire/message.h"

namespace command {

class Client;
class CursorManager;

// The rights that a client has at this moment. It is made for each request; it may read the users
// anew, under the lock on admin, so the caller holds no lock.
class Rights {
  public:
    explicit Rights(Client& client);

    // There is no access control.
    bool logged_in() const;
    // No user has logged in, and this client may create the first one.
    bool may_make_first_user() const { return first_user_; }

    bool on_cluster(auth::Actions actions) const;
    bool on(std::string_view db, std::string_view collection, auth::Actions actions) const;
    bool on(std::string_view ns, auth::Actions actions) const;
    // Whether they are allowed on every database.
    bool anywhere(auth::Actions actions) const;
    bool know_database(std::string_view db) const;

  private:
    Client& client_;
    const bool unlimited_;
    bool first_user_ = false;
};

void check_admission(const Invocation& invocation, const Command& command);
// Throws base::Error 13 unless the client may run this command, here and from where it is.
inline void admit(const Invocation& invocation, const Command& command) {
    if ((command.flags & (kAdminOnly | kLocalOnly)) != 0 ||
        invocation.client.access_control().enabled)
        check_admission(invocation, command);
}
// Whether `need` is satisfied, e.g. that of a command that another one explains.
bool satisfied(const Need& need, const Invocation& invocation, const Rights& rights);

// Throws base::Error 13 unless the client may do this to a namespace; `what` is for people:
// "query".
void admit(Client& client, std::string_view what, std::string_view ns, auth::Actions actions);
// The same for the server as a whole.
void admit_on_cluster(Client& client, std::string_view what, auth::Actions actions);
// The old opcodes. Each throws base::Error 13 unless the client may.
void admit_query(Client& client, std::string_view ns);
void admit_insert(Client& client, const wire::InsertMessage& message);
void admit_update(Client& client, const wire::UpdateMessage& message);

// Whether the client may insert this document into a system.indexes, which makes an index.
bool may_make_index(const Rights& rights, bson::Doc spec);

// Whether the client may end a cursor, if there is one of this id.
bool may_kill_cursor(Client& client, const CursorManager& cursors, int64_t id);
// Throws base::Error 13 unless the client may go on with the cursor of this id, if there is one. If
// `tells_of_ns`, the reply shows whether that collection exists: allowed to clients that may read
// it, or have this cursor on it.
void admit_get_more(Client& client, const CursorManager& cursors, int64_t id, std::string_view ns,
                    bool tells_of_ns);

}  // namespace command

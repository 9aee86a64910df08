// server/first_user.h - what a start with --auth does about users: makes the first one where a file
// names it (--firstUserFile), and warns in the log if no user can log in.
#pragma once

namespace command {
class OperationContexts;
class UserStore;
}  // namespace command

namespace server {

// Makes the first user, if there is to be one, before clients are served. `may_make`: not on a
// secondary, which has what the primary has. Throws base::Error when the file cannot be used.
void prepare_users(command::OperationContexts& contexts, command::UserStore& users, bool may_make);

}  // namespace server

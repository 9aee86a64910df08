// command/access/access_control.h - whether clients have to log in, as whom they can, and what
// failed logins cost. The rights of users are in auth/; command/request/authorization.h says which
// request needs which.
//
// The room access: users as they are stored, the login of one connection, and what it costs to fail
// at it. It knows no requests.
#pragma once

#include "command/access/login_delays.h"
#include "command/access/users.h"

namespace command {

struct AccessControl {
    explicit AccessControl(catalog::Catalog& catalog) : users(catalog) {}

    bool enabled = false;  // --auth; set before the first request
    UserStore users;
    LoginDelays delays;
};

}  // namespace command

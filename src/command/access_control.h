// command/access_control.h - whether clients have to log in, as whom they can, and what failed
// logins cost. What users may do is auth/; which request needs what is command/authorization.h.
#pragma once

#include "command/login_delays.h"
#include "command/users.h"

namespace command {

struct AccessControl {
    explicit AccessControl(catalog::Catalog& catalog) : users(catalog) {}

    bool enabled = false;  // --auth; set before the first request
    UserStore users;
    LoginDelays delays;
};

}  // namespace command

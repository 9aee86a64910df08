// options/security.h - who may connect and do what (wire spec 6.1, 6.4; docs/security.md).
#pragma once

#include "options/option.h"

namespace options {

inline Flag auth({
    .name = "auth",
    .yaml = {"security.authorization"},
    .yaml_words = {{"enabled", true}},
    .group = Group::security,
    .help = "Clients must log in, and may do what the roles of their user allow. Default: off, and "
            "every client may do everything. While there are no users, a client on this "
            "machine may make the first one.",
});

inline Flag no_auth({
    .name = "noauth",
    .yaml = {"security.authorization"},
    .yaml_words = {{"disabled", true}},
    .group = Group::security,
    .help = "Without access control, which is the default.",
    .hidden = true,
});

inline Text key_file({
    .name = "keyFile",
    .yaml = {"security.keyFile"},
    .group = Group::security,
    .value_name = "FILE",
    .default_value = "",
    .default_text = "none",
    .help = "A secret that the members of a replica set share: by it they log in to each other. 6 "
            "to 1024 base64 characters; white space between them does not count. Only its owner "
            "may have rights to the file. Implies --auth.",
});

inline Text cluster_auth_mode({
    .name = "clusterAuthMode",
    .yaml = {"security.clusterAuthMode"},
    .group = Group::security,
    .value_name = "MODE",
    .default_value = "undefined",
    .default_text = "keyFile with --keyFile",
    .choices = {"undefined", "keyFile"},
    .help = "How members of a replica set log in to each other: by --keyFile. There is no other "
            "way.",
    .parameter = Parameter::read_only,
});

// Whether clients must log in.
inline bool asks_for_login() {
    return auth.get() || (key_file.is_set() && !no_auth.get());
}

inline Text first_user_file({
    .name = "firstUserFile",
    .yaml = {"security.firstUserFile"},
    .group = Group::security,
    .value_name = "FILE",
    .default_value = "",
    .default_text = "none",
    .help = "With --auth and no users yet: make one before clients can connect. The file's first "
            "line is the name, its second the password; the user gets the role root. Where there "
            "are users the file is not read.",
});

inline Flag scripting({
    .name = "scripting",
    .yaml = {"security.javascriptEnabled"},
    .group = Group::security,
    .help = "Lets clients run JavaScript in the server: $where, mapReduce, group, eval, $function, "
            "$accumulator. Needs the package mongod-dur-script.",
});

inline Flag no_scripting({
    .name = "noscripting",
    .group = Group::security,
    .help = "Without JavaScript, which is the default.",
    .hidden = true,
});

inline Flag localhost_exception({
    .name = "enableLocalhostAuthBypass",
    .group = Group::parameters,
    .default_value = true,
    .help = "With --auth and no users: a client on this machine may make the first one.",
    .parameter = Parameter::at_start,
});

}  // namespace options

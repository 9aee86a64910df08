#include "server/first_user.h"

#include <algorithm>
#include <sstream>
#include <string>

#include "auth/user.h"
#include "base/error.h"
#include "base/log.h"
#include "command/access/users.h"
#include "command/context/operation_context.h"
#include "command/write/add_user.h"
#include "options/security.h"
#include "server/text_file.h"

namespace server {

namespace {

std::string read_line(std::istream& in) {
    std::string line;
    std::getline(in, line);
    if (line.ends_with('\r')) line.pop_back();
    return line;
}

std::string read_user_file(const std::string& path) {
    try {
        return read_text_file(path);
    } catch (const base::Error& error) {
        base::fail(base::kBadValue, "--firstUserFile {}: {}", path, error.what());
    }
}

void make_user(command::OperationContexts& contexts, command::UserStore& users,
               const std::string& path) {
    std::istringstream in(read_user_file(path));
    const std::string name = read_line(in);
    const std::string password = read_line(in);
    if (name.empty() || password.empty())
        base::fail(base::kBadValue,
                   "--firstUserFile {}: there must be a name on the first line and a password on "
                   "the second",
                   path);
    const bson::Object name_field = bson::make("user", name);
    const auth::UserName who = auth::parse_new_name(name_field["user"], "admin");
    bson::Builder fields;
    {
        bson::Builder credentials = fields.sub_object("credentials");
        for (const auth::Mechanism mechanism : auth::kMechanisms)
            auth::append_credential(mechanism,
                                    auth::make_credential(mechanism, who.name, {password, false}),
                                    credentials);
    }
    {
        bson::Builder roles = fields.sub_array("roles");
        auth::append_roles({{"root", "admin"}}, roles);
    }
    command::BackgroundOperation operation(contexts, "firstUser");
    command::add_user(operation, users, who, fields.doc(), true);
    base::log::info("user {} created from {}", who.text(), path);
}

bool can_log_in(const auth::User& user) {
    return std::ranges::any_of(user.credentials, [](const auto& c) { return c.has_value(); });
}

// An old directory may have users whose passwords nothing here can check.
void warn_if_no_user_can_log_in(command::UserStore& users) {
    bool possible = false;
    users.each([&possible](bson::Doc stored) {
        const auto user = auth::read_user(stored);
        possible = possible || (user && can_log_in(*user));
    });
    if (possible) return;
    base::log::startup_warning(
        "** WARNING: no user of admin.system.users has SCRAM credentials, so no client can log in. "
        "Start once without --auth, and give a password to one with updateUser.");
}

}  // namespace

void prepare_users(command::OperationContexts& contexts, command::UserStore& users, bool may_make) {
    if (!users.any()) {
        const std::string path = options::first_user_file.get();
        if (!path.empty() && may_make) return make_user(contexts, users, path);
        if (options::localhost_exception.get())
            base::log::info(
                "there are no users yet; a client on this machine can make the first "
                "one in the database admin");
        return;
    }
    warn_if_no_user_can_log_in(users);
}

}  // namespace server

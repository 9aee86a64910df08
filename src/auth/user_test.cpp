#include "auth/user.h"

#include <gtest/gtest.h>

#include <functional>

#include "auth/crypto.h"
#include "base/error.h"
#include "bson/json.h"
#include "bson/testing/json.h"

namespace auth {
namespace {

bson::Object stored_user(const Credential& sha256) {
    bson::Builder out;
    out.append("_id", "test.bob").append("user", "bob").append("db", "test");
    {
        bson::Builder credentials = out.sub_object("credentials");
        append_credential(Mechanism::sha256, sha256, credentials);
    }
    {
        bson::Builder roles = out.sub_array("roles");
        append_roles({{"read", "test"}, {"root", "admin"}}, roles);
    }
    return out.object();
}

int code_of(const std::function<void()>& work) {
    try {
        work();
    } catch (const base::Error& e) {
        return e.code();
    }
    return 0;
}

TEST(User, WrittenAndReadAgain) {
    const Credential made = make_credential(Mechanism::sha256, "secret", random_bytes(28), 4096);
    const auto user = read_user(stored_user(made));
    ASSERT_TRUE(user);
    EXPECT_EQ(user->who.id(), "test.bob");
    EXPECT_EQ(user->who.text(), "bob@test");
    EXPECT_NE((UserName{"a@b", "c"}.digest()), (UserName{"a", "b@c"}.digest()));
    EXPECT_FALSE(user->credential(Mechanism::sha1));
    ASSERT_TRUE(user->credential(Mechanism::sha256));
    const Credential& read = *user->credential(Mechanism::sha256);
    EXPECT_EQ(read.iterations, 4096);
    EXPECT_EQ(read.salt, made.salt);
    EXPECT_EQ(read.stored_key, made.stored_key);
    EXPECT_EQ(read.server_key, made.server_key);
    EXPECT_EQ(user->roles, (std::vector<Role>{{"read", "test"}, {"root", "admin"}}));
    EXPECT_TRUE(granted_by(user->roles, nullptr).privileges.allow("other", "c", action::insert));
}

TEST(User, DamagedDocumentsAllowNoLogin) {
    for (const char* json :
         {"{}", R"({"user": 1, "db": "test"})", R"({"user": "a"})", R"({"db": "test"})"})
        EXPECT_FALSE(read_user(bson::from_json(json))) << json;
    const Credential good = make_credential(Mechanism::sha256, "secret", random_bytes(28), 4096);
    const auto read = [&](const std::function<void(Credential&)>& damage) {
        Credential bad = good;
        damage(bad);
        return read_user(stored_user(bad))->credential(Mechanism::sha256).has_value();
    };
    EXPECT_TRUE(read([](Credential&) {}));
    EXPECT_FALSE(read([](Credential& c) { c.iterations = 1; }));
    EXPECT_FALSE(read([](Credential& c) { c.salt.clear(); }));
    EXPECT_TRUE(read([](Credential& c) { c.salt.assign(1024, 's'); }));
    EXPECT_FALSE(read([](Credential& c) { c.salt.assign(1025, 's'); }));
    EXPECT_FALSE(read([](Credential& c) { c.stored_key.pop_back(); }));
    EXPECT_FALSE(read([](Credential& c) { c.stored_key.clear(); }));
    EXPECT_FALSE(read([](Credential& c) { c.server_key += "x"; }));
}

TEST(User, OldCredentialsAreKnownButNotUsed) {
    const bson::Object old = bson::from_json(
        R"({"_id": "test.bob", "user": "bob", "db": "test",
            "credentials": {"MONGODB-CR": "0123"}, "roles": [{"role": 1}, {"role": "x"}, 5]})");
    const auto user = read_user(old);
    ASSERT_TRUE(user);
    EXPECT_FALSE(user->credential(Mechanism::sha1));
    EXPECT_TRUE(user->roles.empty());
    bson::Builder shown;
    {
        bson::Builder list = shown.sub_array("m");
        append_mechanisms(old, list);
    }
    EXPECT_EQ(bson::to_text(shown.doc()), "{ m: [ \"MONGODB-CR\" ] }");
}

TEST(User, RolesOfArguments) {
    const bson::Object good =
        bson::from_json(R"({"r": ["read", {"role": "root", "db": "admin"}, "read"]})");
    EXPECT_EQ(parse_roles(good["r"], "test"),
              (std::vector<Role>{{"read", "test"}, {"root", "admin"}}));
    const auto code = [](const char* json) {
        const bson::Object argument = bson::from_json(json);
        return code_of([&] {
            const auto none = [](const Role&) { return std::optional<OwnRole>(); };
            check_exist(parse_roles(argument["r"], "test"), none);
        });
    };
    EXPECT_EQ(code(R"({"r": ["root"]})"), base::kRoleNotFound);
    EXPECT_EQ(code(R"({"r": [{"role": "nothing", "db": "test"}]})"), base::kRoleNotFound);
    EXPECT_EQ(code(R"({"r": "read"})"), base::kTypeMismatch);
    EXPECT_EQ(code(R"({"r": [1]})"), base::kTypeMismatch);
    EXPECT_EQ(code(R"({"r": [{"role": "read"}]})"), base::kTypeMismatch);
    EXPECT_EQ(code(R"({"r": [{"role": "read", "db": "test", "x": 1}]})"), base::kBadValue);
}

TEST(User, MechanismsOfArguments) {
    const auto parsed = [](const char* json, bool digested) {
        const bson::Object argument = bson::from_json(json);
        return parse_mechanisms(argument["m"], digested);
    };
    EXPECT_EQ(parsed("{}", false), (std::vector{Mechanism::sha1, Mechanism::sha256}));
    EXPECT_EQ(parsed("{}", true), std::vector{Mechanism::sha1});
    EXPECT_EQ(parsed(R"({"m": ["SCRAM-SHA-256"]})", false), std::vector{Mechanism::sha256});
    EXPECT_EQ(code_of([&] { parsed(R"({"m": ["MONGODB-CR"]})", false); }), base::kBadValue);
    EXPECT_EQ(code_of([&] { parsed(R"({"m": []})", false); }), base::kBadValue);
}

TEST(User, NamesOfArguments) {
    const auto name = [](const char* json) {
        const bson::Object argument = bson::from_json(json);
        return parse_name(argument["n"], "test").text();
    };
    EXPECT_EQ(name(R"({"n": "bob"})"), "bob@test");
    EXPECT_EQ(name(R"({"n": {"user": "bob", "db": "x"}})"), "bob@x");
    EXPECT_EQ(code_of([&] { name(R"({"n": ""})"); }), base::kBadValue);
    EXPECT_EQ(code_of([&] { name(R"({"n": 5})"); }), base::kTypeMismatch);
    EXPECT_EQ(code_of([&] { name(R"({"n": {"user": "bob"}})"); }), base::kTypeMismatch);
    const bson::Object bob = bson::make("n", "bob");
    EXPECT_EQ(code_of([&] { parse_new_name(bob["n"], "local"); }), base::kBadValue);
    EXPECT_EQ(code_of([&] { parse_new_name(bob["n"], "$external"); }), base::kBadValue);
}

// The rights of a user's roles are worked out at each login, which may not take for ever.
TEST(User, HasAThousandRolesAtMost) {
    const auto roles = [](int count) {
        bson::Builder out;
        {
            bson::Builder list = out.sub_array("roles");
            for (int i = 0; i < count; ++i)
                append_roles({{"read", "db" + std::to_string(i)}}, list);
        }
        return out.object();
    };
    const auto most = static_cast<int>(kRolesMax);
    EXPECT_EQ(parse_roles(roles(most)["roles"], "test").size(), kRolesMax);
    EXPECT_EQ(code_of([&] { parse_roles(roles(most + 1)["roles"], "test"); }), base::kBadValue);
    bson::Builder stored;
    stored.append("user", "bob").append("db", "test").append(roles(most + 1)["roles"]);
    EXPECT_EQ(read_user(stored.doc())->roles.size(), kRolesMax);
}

}  // namespace
}  // namespace auth

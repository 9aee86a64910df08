#include "catalog/names.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace catalog {
namespace {

using storage::kOldNameLimits;

int code_of(const std::function<void()>& action) {
    try {
        action();
    } catch (const base::Error& e) {
        return e.code();
    }
    return 0;
}

TEST(Names, SplitAtTheFirstDot) {
    EXPECT_EQ(split("db.a.b").db, "db");
    EXPECT_EQ(split("db.a.b").collection, "a.b");
    EXPECT_EQ(split("db").collection, "");
}

TEST(Names, DatabaseRules) {
    EXPECT_TRUE(valid_database_name("test"));
    EXPECT_TRUE(valid_database_name(std::string(63, 'x')));
    EXPECT_FALSE(valid_database_name(std::string(64, 'x')));
    for (const char* bad : {"", "a b", "a/b", "a\\b", "a.b", "a\"b"})
        EXPECT_FALSE(valid_database_name(bad)) << bad;
    EXPECT_FALSE(valid_database_name(std::string("a\0b", 3)));
}

TEST(Names, CollectionRules) {
    EXPECT_TRUE(valid_collection_name("db", "a.", kOldNameLimits));
    EXPECT_TRUE(valid_collection_name("db", " ", kOldNameLimits));
    EXPECT_FALSE(valid_collection_name("db", "", kOldNameLimits));
    EXPECT_TRUE(valid_collection_name("db", ".a", kOldNameLimits));
    EXPECT_TRUE(valid_collection_name("db", ".", kOldNameLimits));
    EXPECT_FALSE(valid_collection_name("db", "a$b", kOldNameLimits));
    EXPECT_TRUE(valid_collection_name("local", "oplog.$main", kOldNameLimits));
    EXPECT_TRUE(valid_collection_name("db", std::string(117, 'x'), kOldNameLimits));
    EXPECT_FALSE(valid_collection_name("db", std::string(118, 'x'), kOldNameLimits));
}

TEST(Names, WritesAreRefusedByCode) {
    EXPECT_EQ(code_of([] { check_writable("db.c", kOldNameLimits); }), 0);
    EXPECT_EQ(code_of([] { check_writable("db.system.indexes", kOldNameLimits); }), 0);
    EXPECT_EQ(code_of([] { check_writable("admin.system.version", kOldNameLimits); }), 0);
    EXPECT_EQ(code_of([] { check_writable("db.system.version", kOldNameLimits); }), 2);
    EXPECT_EQ(code_of([] { check_writable("db.system.namespaces", kOldNameLimits); }), 2);
    EXPECT_EQ(code_of([] { check_writable("db.a.system.b", kOldNameLimits); }), 2);
    EXPECT_EQ(code_of([] { check_writable("db.a$b", kOldNameLimits); }), 2);
    EXPECT_EQ(code_of([] { check_writable("db..a", kOldNameLimits); }), 0);
    EXPECT_EQ(code_of([] { check_writable("system.c", kOldNameLimits); }), 2);
    EXPECT_EQ(code_of([] { check_writable("db." + std::string(117, 'x'), kOldNameLimits); }), 0);
    EXPECT_EQ(code_of([] { check_writable("db." + std::string(118, 'x'), kOldNameLimits); }), 2);
    EXPECT_EQ(code_of([] { check_writable("db.", kOldNameLimits); }), base::kInvalidNamespace);
    EXPECT_EQ(code_of([] { check_writable("db.system.profile", kOldNameLimits); }), 0);
    EXPECT_EQ(code_of([] { check_insertable("db.system.profile", kOldNameLimits); }), 2);
    EXPECT_EQ(code_of([] { check_insertable("db.system.profiles", kOldNameLimits); }), 2);
    EXPECT_EQ(code_of([] { check_insertable("db.system.indexes", kOldNameLimits); }), 0);
    EXPECT_EQ(code_of([] { check_insertable("db.c", kOldNameLimits); }), 0);
}

}  // namespace
}  // namespace catalog

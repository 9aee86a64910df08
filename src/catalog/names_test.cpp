#include "catalog/names.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace catalog {
namespace {

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
    EXPECT_TRUE(valid_collection_name("db", "a."));
    EXPECT_TRUE(valid_collection_name("db", " "));
    EXPECT_FALSE(valid_collection_name("db", ""));
    EXPECT_TRUE(valid_collection_name("db", ".a"));
    EXPECT_TRUE(valid_collection_name("db", "."));
    EXPECT_FALSE(valid_collection_name("db", "a$b"));
    EXPECT_TRUE(valid_collection_name("local", "oplog.$main"));
    EXPECT_TRUE(valid_collection_name("db", std::string(117, 'x')));
    EXPECT_FALSE(valid_collection_name("db", std::string(118, 'x')));
}

TEST(Names, WritesAreRefusedByCode) {
    EXPECT_EQ(code_of([] { check_writable("db.c"); }), 0);
    EXPECT_EQ(code_of([] { check_writable("db.system.indexes"); }), 0);
    EXPECT_EQ(code_of([] { check_writable("admin.system.version"); }), 0);
    EXPECT_EQ(code_of([] { check_writable("db.system.version"); }), 2);
    EXPECT_EQ(code_of([] { check_writable("db.system.namespaces"); }), 2);
    EXPECT_EQ(code_of([] { check_writable("db.a.system.b"); }), 2);
    EXPECT_EQ(code_of([] { check_writable("db.a$b"); }), 2);
    EXPECT_EQ(code_of([] { check_writable("db..a"); }), 0);
    EXPECT_EQ(code_of([] { check_writable("system.c"); }), 2);
    EXPECT_EQ(code_of([] { check_writable("db." + std::string(117, 'x')); }), 0);
    EXPECT_EQ(code_of([] { check_writable("db." + std::string(118, 'x')); }), 2);
    EXPECT_EQ(code_of([] { check_writable("db."); }), base::kInvalidNamespace);
    EXPECT_EQ(code_of([] { check_writable("db.system.profile"); }), 0);
    EXPECT_EQ(code_of([] { check_insertable("db.system.profile"); }), 2);
    EXPECT_EQ(code_of([] { check_insertable("db.system.profiles"); }), 2);
    EXPECT_EQ(code_of([] { check_insertable("db.system.indexes"); }), 0);
    EXPECT_EQ(code_of([] { check_insertable("db.c"); }), 0);
}

}  // namespace
}  // namespace catalog

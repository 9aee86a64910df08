// Every command of the registry against its table: what is not in it, or has another type, is
// refused by name, so that no command can be forgotten.
#include "command/request/fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "command/commands/testing/service.h"
#include "command/commands/writes.h"
#include "command/request/bind.h"

namespace command {
namespace {

constexpr int kDuplicateField = 40413;
constexpr int kMissingField = 40414;
constexpr int kUnknownField = 40415;

struct Sample {
    bson::Type type;
    const char* json;
};
constexpr Sample kSamples[] = {
    {bson::Type::string, R"("false")"},
    {bson::Type::object, R"({"x": 1})"},
    {bson::Type::array, "[1]"},
    {bson::Type::boolean, "true"},
    {bson::Type::int32, "1"},
    {bson::Type::object_id, R"({"$oid": "0102030405060708090a0b0c"})"},
    {bson::Type::date, R"({"$date": 5})"},
};

class FieldsTest : public ServiceTest {
  protected:
    template <typename Visit>
    void each_command(Visit&& visit) {
        for (const Family& family : all_families()) {
            for (const Command& command : family)
                visit(command);
        }
    }
    static std::string request(const Command& command, std::string_view more) {
        return fmt::format(R"({{"{}": "c", {}}})", command.name, more);
    }
    bson::Object ask(const Command& command, std::string_view more) {
        return run(request(command, more), database(command));
    }
    static const char* database(const Command& command) {
        return (command.flags & kAdminOnly) != 0 ? "admin" : "test";
    }
    // Refused with that code and a text that names the field.
    static void expect_refused(const bson::Object& reply, int wanted, std::string_view field,
                               const std::string& asked) {
        EXPECT_EQ(code(reply), wanted) << asked << " " << bson::to_text(reply.doc());
        EXPECT_NE(text(reply, "errmsg").find(field), std::string::npos)
            << asked << " " << bson::to_text(reply.doc());
    }
};

TEST_F(FieldsTest, WhatNoCommandKnowsIsRefusedByName) {
    int commands = 0;
    each_command([&](const Command& command) {
        if ((command.flags & kAnyField) != 0) return;
        ++commands;
        for (const char* field : {"nosuch", "$nosuch", "query2", "Query"}) {
            const std::string more = fmt::format(R"("{}": 1)", field);
            expect_refused(ask(command, more), kUnknownField, field, request(command, more));
        }
    });
    EXPECT_GT(commands, 70);
}

TEST_F(FieldsTest, AValueOfAnotherTypeIsRefusedByName) {
    int tried = 0;
    each_command([&](const Command& command) {
        for (const Field& field : command.fields) {
            if (field.use == Field::Use::refused || field.types == types::any) continue;
            for (const Sample& sample : kSamples) {
                if ((field.types & types::of(sample.type)) != 0) continue;
                const std::string more = fmt::format(R"("{}": {})", field.name, sample.json);
                expect_refused(ask(command, more), base::kTypeMismatch, field.name,
                               request(command, more));
                ++tried;
            }
        }
    });
    EXPECT_GT(tried, 500);
}

TEST_F(FieldsTest, WhatLaterServersDoIsRefusedByNameInBothDialects) {
    int tried = 0;
    each_command([&](const Command& command) {
        for (const Field& field : command.fields) {
            if (field.use != Field::Use::refused) continue;
            const std::string more = fmt::format(R"("{}": {{"x": 1}})", field.name);
            expect_refused(ask(command, more), base::kInvalidOptions, field.name,
                           request(command, more));
            expect_refused(run_old(request(command, more), database(command)),
                           base::kInvalidOptions, field.name, request(command, more));
            ++tried;
        }
    });
    EXPECT_GT(tried, 40);
}

TEST_F(FieldsTest, AFieldIsThereOnce) {
    each_command([&](const Command& command) {
        for (const Field& field : command.fields) {
            if (field.types == types::any) continue;
            for (const Sample& sample : kSamples) {
                if ((field.types & types::of(sample.type)) == 0) continue;
                const bool required = field.use == Field::Use::required;
                for (const char* first : {sample.json, "null"}) {
                    const bool is_null = first != sample.json;
                    const std::string more =
                        fmt::format(R"("{0}": {1}, "{0}": {2})", field.name, first, sample.json);
                    expect_refused(ask(command, more),
                                   is_null && required ? kMissingField : kDuplicateField,
                                   field.name, request(command, more));
                }
                break;
            }
        }
    });
}

TEST_F(FieldsTest, AFieldOfAnItemIsThereOnce) {
    const std::pair<const char*, int> items[] = {
        {R"({"createIndexes": "c", "indexes": [{"key": null, "key": {"a": 1}, "name": "a"}]})",
         base::kFailedToParse},
        {R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": null, "name": "a"}]})",
         base::kFailedToParse},
        {R"({"createIndexes": "c",
             "indexes": [{"key": {"a": 1}, "name": "a", "sparse": null, "sparse": true}]})",
         kDuplicateField},
        {R"({"update": "c", "updates": [{"q": {}, "u": {}, "upsert": null, "upsert": true}]})",
         kDuplicateField},
        {R"({"delete": "c", "deletes": [{"q": {}, "limit": null, "limit": 1}]})", kMissingField}};
    for (const auto& [command, expected] : items) {
        const bson::Object reply = run(command);
        const bson::Element errors = reply["writeErrors"];
        const int found =
            errors.missing() ? code(reply) : errors.as_doc()["0"].as_doc()["code"].to_int32();
        EXPECT_EQ(found, expected) << command << bson::to_text(reply);
    }
}

TEST_F(FieldsTest, WhatACommandNeedsIsAskedForByName) {
    int tried = 0;
    each_command([&](const Command& command) {
        const auto needed = std::ranges::find(command.fields, Field::Use::required, &Field::use);
        if (needed == command.fields.end()) return;
        ++tried;
        for (const std::string& more :
             {std::string(R"("comment": 1)"), fmt::format(R"("{}": null)", needed->name)})
            expect_refused(ask(command, more), kMissingField, needed->name, request(command, more));
    });
    EXPECT_GT(tried, 9);
}

TEST_F(FieldsTest, ByTheOldMessagesNothingIsUnknown) {
    each_command([&](const Command& command) {
        // It ends the server, or is younger than they are.
        if (command.name == "shutdown") return;
        // `sleep` takes ten seconds without `millis`.
        const bson::Object reply =
            run_old(request(command, R"("nosuch": 1, "millis": 1)"), database(command));
        EXPECT_NE(code(reply), kUnknownField) << command.name;
        EXPECT_NE(code(reply), kMissingField) << command.name;
    });
}

// A table with an error in it would let through what it should not.
TEST_F(FieldsTest, TablesAreConsistent) {
    std::vector<std::pair<std::string, Fields>> tables = {{"update item", update_item_fields()},
                                                          {"delete item", delete_item_fields()}};
    each_command([&](const Command& command) {
        tables.emplace_back(command.name, command.fields);
        EXPECT_TRUE((command.flags & kAnyField) == 0 || command.fields.empty()) << command.name;
    });
    for (const auto& [name, fields] : tables) {
        std::set<std::string_view> names;
        for (const Field& field : fields) {
            EXPECT_TRUE(names.insert(field.name).second) << name << " " << field.name;
            EXPECT_NE(field.types, 0u) << name << " " << field.name;
        }
        for (const char* generic : {"lsid", "$db", "maxTimeMS", "readConcern", "writeConcern",
                                    "comment", "apiVersion", "help"})
            EXPECT_FALSE(names.contains(generic)) << name << " " << generic;
    }
}

TEST_F(FieldsTest, NullStandsForAFieldThatIsNotGiven) {
    run(R"({"insert": "c", "documents": [{"_id": 1, "a": 1}]})");
    EXPECT_EQ(code(run(R"({"find": "c", "filter": null, "limit": null, "hint": null,
                           "batchSize": {"$undefined": true}, "singleBatch": null})")),
              0);
    EXPECT_EQ(text(run(R"({"count": "c", "query": null, "skip": null})"), "n"), "1");
    EXPECT_EQ(code(run(R"({"validate": "c", "full": null})")), 0);
    EXPECT_EQ(code(run(R"({"compact": "c", "paddingFactor": null, "force": null})")), 0);
    EXPECT_EQ(code(run(R"({"aggregate": "c", "pipeline": [], "cursor": {"batchSize": null}})")), 0);
}

TEST_F(FieldsTest, DbHashOfSomeCollections) {
    for (const char* name : {"a", "b"})
        run(fmt::format(R"({{"insert": "{}", "documents": [{{"_id": 1}}]}})", name));
    const auto hashed = [&](const char* more) {
        const bson::Object reply = run(fmt::format(R"({{"dbHash": 1{}}})", more));
        std::string names;
        for (const bson::Element& e : reply["collections"].as_doc())
            names += e.name();
        return names;
    };
    EXPECT_EQ(hashed(""), "ab");
    EXPECT_EQ(hashed(R"(, "collections": ["b"])"), "b");
    EXPECT_EQ(hashed(R"(, "collections": ["nosuch", 1])"), "");
    EXPECT_EQ(hashed(R"(, "collections": [])"), "ab") << "as a 2.6.5: it asks for none";
}

// One request of a table of its own.
struct Sampled {
    int64_t number = 0;
    std::string unknown;
    bson::Element text;
};
constexpr Reader<int64_t> kPositive{types::number, [](const bson::Element& e, dialect::Dialect) {
                                        if (e.to_int64() <= 0)
                                            base::fail(base::kBadValue, "'{}' is not positive",
                                                       e.name());
                                        return e.to_int64();
                                    }};
constexpr Reader<bson::Element> kText{types::string, as_it_came};
constexpr Row<Sampled> kSampledRows[] = {
    row<kPositive, &Sampled::number>("number"),
    row<kText, &Sampled::text>("text"),
    without_effect("nothing", types::any),
};
void take_unknown(Sampled& request, const bson::Element& e, dialect::Dialect) {
    request.unknown += e.name();
}
constexpr RequestTable kFirst(kSampledRows, take_unknown);
constexpr RequestTable kLast(kSampledRows, nullptr, Repeated::last);

Sampled sampled(const auto& table, std::string_view json, dialect::Dialect dialect) {
    Sampled request;
    const bson::Object document = bson::from_json(json);
    table.read(document, "sample", dialect, request);
    return request;
}

TEST(BindTest, TheRowsOfATableFillTheRequest) {
    for (const dialect::Dialect dialect : {dialect::kV26, dialect::kToday}) {
        EXPECT_EQ(sampled(kFirst, R"({"nothing": 1, "number": 7})", dialect).number, 7);
        EXPECT_EQ(sampled(kFirst, R"({"nothing": 1})", dialect).number, 0);
        EXPECT_THROW(sampled(kFirst, R"({"number": -7})", dialect), base::Error);
    }
}

TEST(BindTest, NullIsNoValueToClientsOfTodayOnly) {
    EXPECT_EQ(sampled(kFirst, R"({"number": null})", dialect::kToday).number, 0);
    EXPECT_THROW(sampled(kFirst, R"({"number": null})", dialect::kV26), base::Error);
}

TEST(BindTest, OfSeveralFieldsOfOneNameTheTableSaysWhichCounts) {
    constexpr std::string_view kTwice = R"({"number": 7, "number": 8})";
    EXPECT_EQ(sampled(kFirst, kTwice, dialect::kV26).number, 7);
    EXPECT_EQ(sampled(kLast, kTwice, dialect::kV26).number, 8);
    std::string often = R"({"number": 7)";
    for (int i = 0; i < 100; ++i)
        often += R"(, "number": 8)";
    EXPECT_THROW(sampled(kFirst, often + "}", dialect::kV26), base::Error);
}

TEST(BindTest, TheFirstUnknownFieldOfOldMessagesIsTold) {
    EXPECT_EQ(sampled(kFirst, R"({"a": 1, "number": 7, "b": 1})", dialect::kV26).unknown, "a");
    EXPECT_EQ(sampled(kLast, R"({"a": 1, "number": 7})", dialect::kV26).number, 7);
    EXPECT_THROW(sampled(kFirst, R"({"a": 1})", dialect::kToday), base::Error);
}

// Drivers send some fields always.
TEST_F(FieldsTest, AFieldOfLaterServersThatAsksForNothingIsTaken) {
    for (const char* name : {"find", "count", "distinct", "aggregate", "findAndModify"}) {
        each_command([&](const Command& command) {
            if (command.name != name) return;
            const std::string needed = command.name == "distinct" ? R"("key": "a")"
                                       : command.name == "aggregate"
                                           ? R"("pipeline": [], "cursor": {})"
                                       : command.name == "findAndModify" ? R"("update": {"a": 1})"
                                                                         : R"("comment": 1)";
            for (const Field& field : command.fields) {
                if (field.use != Field::Use::refused) continue;
                for (const char* nothing : {"false", "null", "{}", "[]"}) {
                    const std::string more =
                        fmt::format(R"({}, "{}": {})", needed, field.name, nothing);
                    EXPECT_EQ(code(ask(command, more)), 0) << request(command, more);
                }
            }
        });
    }
}

}  // namespace
}  // namespace command

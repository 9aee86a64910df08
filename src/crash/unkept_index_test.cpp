// Indexes that this server does not keep up, since a later server made them or their definition is
// damaged: nothing that builds indexes anew takes them away, and it leaves the others.
#include <fmt/format.h>

#include <cstring>

#include "command/commands/testing/service.h"
#include "crash/testing/copy_engine.h"

namespace crash {
namespace {

class UnkeptIndexTest : public command::ServiceTest {
  protected:
    UnkeptIndexTest() : command::ServiceTest(std::function(make)) {
        for (int i = 0; i < kDocuments; ++i)
            EXPECT_EQ(code(run(fmt::format(
                          R"({{"insert": "c", "documents": [{{"_id": {0}, "b": {0}}}]}})", i))),
                      0);
        const std::string room(12000, 'x');
        EXPECT_EQ(code(run(fmt::format(R"({{"createIndexes": "c", "indexes": [
                                {{"key": {{"a": 1}}, "name": "a"}},
                                {{"key": {{"b": 1}}, "name": "b", "default_language": "{}"}},
                                {{"key": {{"c": 1}}, "name": "c"}}]}})",
                                       room))),
                  0);
    }

    static std::unique_ptr<storage::Engine> make() { return std::make_unique<CopyEngine>(); }
    static constexpr int kDocuments = 10;

    // Makes `definition` that of the index b, in the files.
    void redefine(const std::string& definition) {
        mmapv1::MmapCollection& collection = *test().find("test.c");
        int slot = 0;
        while (collection.index(slot).name != "b")
            ++slot;
        const bson::Object other = bson::from_json(definition);
        mmapv1::RecordHeader& record = test().files().record(collection.slot_details(slot)->info);
        ASSERT_LE(other.doc().size(), record.data_bytes());
        views().declare(record.data(), static_cast<size_t>(other.doc().size()));
        std::memcpy(record.data(), other.doc().data(), static_cast<size_t>(other.doc().size()));
    }
    // The index is called so in the namespace file, whatever its definition says.
    void rename_namespace(const char* name) {
        const mmapv1::NamespaceDetails details = test().namespaces().find("test.c.$b")->details;
        test().namespaces().erase("test.c.$b");
        test().namespaces().add(std::string("test.c.$") + name).details = details;
    }
    mmapv1::TestViews& views() { return static_cast<CopyEngine&>(*engine_).views(); }
    mmapv1::MmapDatabase& test() { return static_cast<CopyEngine&>(*engine_).test(); }

    // A server that has opened a copy of these files.
    struct Next : command::TestConnection {
        using TestConnection::code;
        using TestConnection::run;
        explicit Next(const mmapv1::TestViews& files) : engine(files) { open(service, 1); }
        ~Next() { session_ = nullptr; }
        int64_t indexes() {
            const bson::Object reply = run(R"({"listIndexes": "c"})");
            return reply["cursor"].as_doc()["firstBatch"].as_doc().field_count();
        }

        CopyEngine engine;
        catalog::Catalog catalog{engine};
        command::ServerContext context;
        command::Service service{catalog, context, command::all_families()};
    };

    void expect_kept() {
        Next next(views());
        EXPECT_EQ(next.indexes(), 4);
        for (const char* command :
             {R"({"reIndex": "c"})", R"({"compact": "c"})", R"({"repairDatabase": 1})",
              R"({"createIndexes": "c", "indexes": [{"key": {"d": 1}, "name": "d"}]})",
              R"({"insert": "c", "documents": [{"_id": 100}]})"}) {
            next.run(command);
            EXPECT_EQ(next.indexes(), 4) << command;
            EXPECT_EQ(next.run(R"({"count": "c", "query": {"a": null}})")["n"].to_int64(),
                      kDocuments)
                << command;
        }
        EXPECT_EQ(next.code(next.run(R"({"dropIndexes": "c", "index": "*"})")), 0);
        EXPECT_EQ(next.code(next.run(R"({"reIndex": "c"})")), 0);
        EXPECT_EQ(next.code(next.run(R"({"insert": "c", "documents": [{"_id": 100}]})")), 0);
    }
};

TEST_F(UnkeptIndexTest, OfALaterVersion) {
    redefine(R"({"v": 2, "key": {"b": 1}, "name": "b", "ns": "test.c"})");
    expect_kept();
}

TEST_F(UnkeptIndexTest, OfAnOldVersion) {
    redefine(R"({"v": 0, "key": {"b": 1}, "name": "b", "ns": "test.c"})");
    expect_kept();
}

TEST_F(UnkeptIndexTest, OfAnotherKind) {
    redefine(R"({"v": 1, "key": {"b": "2dsphere"}, "name": "b", "ns": "test.c"})");
    expect_kept();
}

TEST_F(UnkeptIndexTest, WithoutAKeyPattern) {
    for (const char* definition : {R"({"v": 1, "key": 1, "name": "b", "ns": "test.c"})",
                                   R"({"v": 1, "name": "b", "ns": "test.c"})"}) {
        redefine(definition);
        expect_kept();
    }
}

// The others of its database are served, and so is the collection as far as it can be.
TEST_F(UnkeptIndexTest, WithAnUnreadableKeyPattern) {
    const auto with = [](const std::string& key, const std::string& more = {}) {
        return fmt::format(R"({{"v": 1, "key": {{{}}}, "name": "b", "ns": "test.c"{}}})", key,
                           more);
    };
    std::string fields = R"("f": 1)";
    for (int i = 0; i < 32; ++i)
        fields += fmt::format(R"(, "f{}": 1)", i);
    std::string parts = "b";
    for (int i = 0; i < 1100; ++i)
        parts += ".b";
    for (const std::string& definition :
         {with(""), with(fields), with(fmt::format(R"("{}": 1)", parts)),
          with(R"("b": "hashed", "c": 1)"), with(R"("b": "hashed")", R"(, "hashVersion": 7)")}) {
        redefine(definition);
        expect_kept();
    }
}

TEST_F(UnkeptIndexTest, WithoutAName) {
    rename_namespace("");
    for (const char* definition : {R"({"v": 1, "key": {"b": 1}, "name": 1, "ns": "test.c"})",
                                   R"({"v": 1, "key": {"b": 1}, "ns": "test.c"})"}) {
        redefine(definition);
        expect_kept();
    }
}

}  // namespace
}  // namespace crash

// Fuzz target: what a client sends, document by document (client.h), to the commands of a whole
// server. A first document {mmapv1: ...} stands for an engine on the simulated disk. Every reply is
// one that clients can read; afterwards every index has what its documents say.
#include "bson/json.h"
#include "client.h"
#include "mutator.h"

std::span<const char* const> fuzz::words() {
    return command_words();
}

namespace {

using bson::make;
using bson::Object;

constexpr int kDocumentsMax = 30;

// Commands that change more than this server, or wait for others.
bool is_left_out(bson::Doc body) {
    const std::string_view name = body.first().name();
    return name == "setParameter" || name == "logRotate" || name == "fsync" ||
           name == "fsyncUnlock" || name == "journalLatencyTest";
}

void expect_valid(fuzz::Service& service, fuzz::Client& client) {
    for (const std::string& db : service.catalog().database_names()) {
        const Object reply =
            client.run(make("listCollections", 1, "cursor", make("batchSize", 10000), "$db", db));
        for (const bson::Element& e : reply["cursor"].as_doc()["firstBatch"].as_doc()) {
            const std::string_view name = e.as_doc()["name"].as_string();
            const Object result = client.run(make("validate", name, "full", true, "$db", db));
            // What a limit has ended says nothing.
            if (result["ok"].to_double() == 0) continue;
            if (!result["valid"].truthy())
                fuzz::broken("a collection is damaged: " + bson::to_json(result));
        }
    }
}

// Else no input would reach anything.
bool expect_it_works() {
    for (const bool on_disk : {false, true}) {
        fuzz::Service service(on_disk);
        fuzz::Client client(service.commands());
        bson::Builder insert;
        insert.append("insert", "c").sub_array("documents").push(make("_id", 1));
        client.send(insert.doc());
        const Object found = client.run(make("find", "c", "$db", "d"));
        const bson::Doc batch = found["cursor"].as_doc()["firstBatch"].as_doc();
        fuzz::expect(batch["0"].is_object() && batch["0"].as_doc()["_id"].to_int64() == 1,
                     "what is inserted is found");
    }
    return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::vector<Object> documents = fuzz::documents(data, size);
    if (documents.empty() || documents.size() > kDocumentsMax) return fuzz::kNoInput;
    [[maybe_unused]] static const bool works = expect_it_works();
    const bool on_disk = documents[0].doc().first().name() == "mmapv1";
    fuzz::Service service(on_disk);
    fuzz::Client client(service.commands());
    for (size_t n = on_disk ? 1 : 0; n < documents.size(); ++n)
        if (documents[n].doc().empty() || !is_left_out(documents[n].doc()))
            client.send(documents[n].doc());
    expect_valid(service, client);
    return fuzz::kTaken;
}

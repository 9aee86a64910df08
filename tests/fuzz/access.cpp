// Fuzz target: what a client sends (client.h) that may not do it. The first document names it:
// {reader: ...} has the role read of database r, {writer: ...}, {keeper: ...} and {admin: ...}
// those of readWrite, userAdmin and dbAdmin there, and with any other name it has not logged in.
//
// Whatever it sends, it neither learns the secret of database d nor changes what is there, other
// databases' users or the server itself; and root's cursor goes on.
#include <algorithm>
#include <random>
#include <string>

#include "auth/scram_client.h"
#include "auth/user.h"
#include "client.h"
#include "mutator.h"

std::span<const char* const> fuzz::words() {
    return command_words();
}

namespace {

using bson::make;
using bson::Object;

constexpr int kDocumentsMax = 20;
constexpr int kSecrets = 5;  // documents of d.c
constexpr const char* kPassword = "pw of all users here";
constexpr auth::Mechanism kMechanism = auth::Mechanism::sha256;

struct Attacker {
    const char* name;
    const char* role;
};
constexpr Attacker kAttackers[] = {
    {"reader", "read"}, {"writer", "readWrite"}, {"keeper", "userAdmin"}, {"admin", "dbAdmin"}};

// Differs each time, so that no input can have it.
std::string any_secret() {
    std::random_device random;
    std::string text = "secret";
    for (int n = 0; n < 4; ++n)
        text += std::to_string(random());
    return text;
}

Object user_document(const std::string& name, const std::string& db, const std::string& role) {
    static const auth::Credential& credential = *new auth::Credential(
        auth::make_credential(kMechanism, kPassword, std::string(auth::salt_size(kMechanism), 's'),
                              auth::kLeastIterations));
    bson::Builder out;
    out.append("_id", db + "." + name).append("user", name).append("db", db);
    {
        bson::Builder credentials = out.sub_object("credentials");
        auth::append_credential(kMechanism, credential, credentials);
    }
    bson::Builder roles = out.sub_array("roles");
    roles.push(make("role", role, "db", db));
    roles.finish();
    return out.object();
}

void log_in(fuzz::Client& client, const std::string& name, const std::string& db) {
    auth::ScramClient scram(kMechanism, name, kPassword);
    const auto sasl = [&](const Object& fields, const std::string& payload) {
        bson::Builder out;
        out.append_all(fields).append_binary(
            "payload", 0, {reinterpret_cast<const uint8_t*>(payload.data()), payload.size()});
        return client.run(out.append("$db", db).object());
    };
    const Object first = sasl(make("saslStart", 1, "mechanism", "SCRAM-SHA-256", "options",
                                   make("skipEmptyExchange", true)),
                              scram.first());
    fuzz::expect(first["payload"].type() == bson::Type::binary, "a login begins");
    const auto answer = first["payload"].binary_data();
    const std::string_view said(reinterpret_cast<const char*>(answer.data()), answer.size());
    const Object last =
        sasl(make("saslContinue", 1, "conversationId", first["conversationId"].to_int32()),
             scram.final(said));
    fuzz::expect(last["done"].truthy(), "a login succeeds");
}

// All documents of a collection that are not about database r, one after the other.
std::vector<uint8_t> bytes_of(fuzz::Service& service, const std::string& ns) {
    std::vector<uint8_t> all;
    catalog::Collection* const collection = service.catalog().collection(ns);
    if (collection == nullptr) return all;
    const auto cursor = collection->records().cursor(storage::Direction::forward);
    while (const auto record = cursor->next()) {
        const bson::Element db = record->doc["db"];
        if (db.is_string() && db.as_string() == "r") {
            const auto user = auth::read_user(record->doc);
            fuzz::expect(
                !user || std::ranges::all_of(user->roles,
                                             [](const auth::Role& role) { return role.db == "r"; }),
                "no user of r gets a role elsewhere");
            continue;
        }
        all.insert(all.end(), record->doc.bytes().begin(), record->doc.bytes().end());
    }
    return all;
}

// Database d, and the users.
struct Kept {
    explicit Kept(fuzz::Service& service) {
        const storage::GlobalLock lock(service.commands().locks(), storage::GlobalMode::R);
        if (const catalog::Database* db = service.catalog().database("d"))
            collections = db->collection_names();
        documents = bytes_of(service, "d.c");
        users = bytes_of(service, std::string(auth::kUsers));
    }
    bool operator==(const Kept&) const = default;

    std::vector<std::string> collections;
    std::vector<uint8_t> documents, users;
};

class Scene {
  public:
    Scene()
        : root_(service_.commands()),
          attacker_(service_.commands(), [this](auto reply) { look(reply); }) {
        const storage::GlobalLock lock(service_.commands().locks(), storage::GlobalMode::W);
        catalog::Collection& users = service_.catalog().collection_for_write(auth::kUsers);
        users.insert(user_document("root", "admin", "root"));
        for (const Attacker& each : kAttackers)
            users.insert(user_document(each.name, "r", each.role));
        catalog::Collection& secrets = service_.catalog().collection_for_write("d.c");
        for (int n = 0; n < kSecrets; ++n)
            secrets.insert(make("_id", n, "a", secret_));
        service_.catalog().collection_for_write("d." + secret_).insert(make("_id", 1));
        service_.catalog().collection_for_write("r.c").insert(make("_id", 1, "a", 1));
    }

    void play(std::span<const Object> documents) {
        service_.commands().access_control().enabled = true;
        service_.context().request_shutdown = [] { fuzz::broken("the server is shut down"); };
        log_in(root_, "root", "admin");
        const Object found = root_.run(make("find", "c", "batchSize", 1, "$db", "d"));
        fuzz::expect(contains(found.bytes(), secret_), "root sees it");
        fuzz::expect(root_.cursor() != 0, "root has a cursor");
        const std::string_view who = documents[0].doc().first().name();
        const auto* attacker = std::ranges::find(kAttackers, who, &Attacker::name);
        if (attacker != std::end(kAttackers)) log_in(attacker_, attacker->name, "r");
        const Kept before(service_);
        for (const Object& each : documents.subspan(1)) {
            attacker_.set_cursor(root_.cursor());
            attacker_.send(each.doc());
        }
        fuzz::expect(Kept(service_) == before, "what he may not change stays");
        const Object rest =
            root_.run(make("getMore", root_.cursor(), "collection", "c", "$db", "d"));
        fuzz::expect(contains(rest.bytes(), secret_), "root's cursor goes on");
    }

  private:
    static bool contains(std::span<const uint8_t> bytes, std::string_view text) {
        return !std::ranges::search(bytes, text).empty();
    }
    void look(std::span<const uint8_t> reply) const {
        fuzz::expect(!contains(reply, secret_), "he does not learn the secret");
    }

    const std::string secret_ = any_secret();
    fuzz::Service service_{false};
    fuzz::Client root_, attacker_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::vector<Object> documents = fuzz::documents(data, size);
    if (documents.size() < 2 || documents.size() > kDocumentsMax || documents[0].doc().empty())
        return fuzz::kNoInput;
    Scene().play(documents);
    return fuzz::kTaken;
}

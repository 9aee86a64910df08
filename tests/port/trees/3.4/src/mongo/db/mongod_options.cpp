// mongod_options.cpp - a small stand-in

#include "mongo/db/mongod_options.h"

#include <string>
#include <vector>

#include "mongo/db/instance.h"
#include "mongo/db/storage/storage_options.h"

namespace mongo {

using std::string;

Status addMongodOptions(moe::OptionSection* options) {
    moe::OptionSection storage_options("Storage options");

    storage_options.addOptionChaining("storage.journal.enabled", "journal", moe::Switch,
                                      "enable journaling");

    storage_options.addOptionChaining("storage.journal.commitIntervalMs",
                                      "journalCommitInterval",
                                      moe::Int,
                                      "how often to group/batch commit (ms)",
                                      "storage.mmapv1.journal.commitIntervalMs");

    options->addSection(storage_options);
    return Status::OK();
}

Status storeMongodOptions(const moe::Environment& params) {
    if (params.count("storage.dbPath")) {
        storageGlobalParams.dbpath = params["storage.dbPath"].as<string>();
    }
    if (params.count("storage.journal.commitIntervalMs")) {
        storageGlobalParams.journalCommitIntervalMs =
            params["storage.journal.commitIntervalMs"].as<int>();
    }
    return Status::OK();
}

}  // namespace mongo

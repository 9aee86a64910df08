// mongod_options.cpp - a small stand-in

#include "mongo/db/mongod_options.h"

#include <string>
#include <vector>

#include "mongo/db/instance.h"
#include "mongo/db/storage_options.h"

namespace mongo {

    using std::string;

    Status addMongodOptions(moe::OptionSection* options) {

        moe::OptionSection general_options;

        general_options.addOptionChaining("storage.journal.enabled", "journal", moe::Switch,
                "enable journaling");

        general_options.addOptionChaining("storage.journal.commitIntervalMs",
                "journalCommitInterval", moe::Unsigned,
                "how often to group/batch commit (ms)");

        general_options.addOptionChaining("storage.journal.debugFlags", "journalOptions",
                moe::Int, "journal diagnostic options")
                                         .hidden()
                                         .setSources(moe::SourceAllLegacy);

        options->addSection(general_options);

        return Status::OK();
    }

    Status storeMongodOptions(const moe::Environment& params,
                              const std::vector<string>& args) {

        if (params.count("storage.dbPath")) {
            storageGlobalParams.dbpath = params["storage.dbPath"].as<string>();
        }

        if (params.count("storage.journal.commitIntervalMs")) {
            storageGlobalParams.journalCommitInterval =
                params["storage.journal.commitIntervalMs"].as<unsigned>();
            if (storageGlobalParams.journalCommitInterval <= 1 ||
                storageGlobalParams.journalCommitInterval > 300) {
                return Status(ErrorCodes::BadValue, "out of range");
            }
        }
        if (params.count("nodur") || params.count("nojournal")) {
            storageGlobalParams.dur = false;
        }
        else if (params.count("storage.journal.debugFlags")) {
            storageGlobalParams.dur = true;
        }
        return Status::OK();
    }

}

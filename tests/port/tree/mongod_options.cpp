// small tree, 2.6 3.4: src/mongo/db/mongod_options.cpp
// mongod_options.cpp - a small stand-in

#include "mongod_options.h"

#include <string>
#include <vector>

#include "instance.h"
#include "storage_options.h"

namespace mongo {

    using std::string;

    Status addMongodOptions(moe::OptionSection* options) {
#if VERSION == 34
            moe::OptionSection storage_options("Storage options");
#endif  // VERSION

#if VERSION == 26
        moe::OptionSection general_options;
#else  // VERSION
            storage_options.addOptionChaining("storage.journal.enabled", "journal", moe::Switch,
                                              "enable journaling");
#endif  // VERSION

#if VERSION == 26
        general_options.addOptionChaining("storage.journal.enabled", "journal", moe::Switch,
                "enable journaling");
#else  // VERSION
            storage_options.addOptionChaining("storage.journal.commitIntervalMs",
                                              "journalCommitInterval",
                                              moe::Int,
                                              "how often to group/batch commit (ms)",
                                              "storage.mmapv1.journal.commitIntervalMs");
#endif  // VERSION

#if VERSION == 26
        general_options.addOptionChaining("storage.journal.commitIntervalMs",
                "journalCommitInterval", moe::Unsigned,
                "how often to group/batch commit (ms)");

        general_options.addOptionChaining("storage.journal.debugFlags", "journalOptions",
                moe::Int, "journal diagnostic options")
                                         .hidden()
                                         .setSources(moe::SourceAllLegacy);

        options->addSection(general_options);

        return Status::OK();
#else  // VERSION
            options->addSection(storage_options);
            return Status::OK();
#endif  // VERSION
    }

#if VERSION == 26
    Status storeMongodOptions(const moe::Environment& params,
                              const std::vector<string>& args) {

        if (params.count("storage.dbPath")) {
            storageGlobalParams.dbpath = params["storage.dbPath"].as<string>();
#else  // VERSION
Status storeMongodOptions(const moe::Environment& params) {
            if (params.count("storage.dbPath")) {
                storageGlobalParams.dbpath = params["storage.dbPath"].as<string>();
            }
            if (params.count("storage.journal.commitIntervalMs")) {
                storageGlobalParams.journalCommitIntervalMs =
                    params["storage.journal.commitIntervalMs"].as<int>();
            }
            return Status::OK();
#endif  // VERSION
        }

#if VERSION == 26
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
#else  // VERSION
}  // namespace mongo
#endif  // VERSION

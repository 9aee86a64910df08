// ported.cpp - runs a small tree of 2.x with all recipes applied, and prints what a test looks at.
//
//   ported DIRECTORY OPTION=VALUE... -- ACTION...
//
// Actions: start stop write ask (a durable write) asks N (from so many threads) early read report
// idle (a quarter of a second without anything) interval MS (setParameter) remaps recover
#include <cstdlib>
#include <iostream>
#include <string>

#include "mongo/db/dur.h"
#include "mongo/db/dur_commitjob.h"
#include "mongo/db/dur_journal.h"
#include "mongo/db/dur_journalimpl.h"
#include "mongo/db/dur_recover.h"
#ifdef HAS_MONGOD_OPTIONS
#include "mongo/db/mongod_options.h"
#else
#include "mongo/db/db_main.h"
#endif

namespace mongo {
extern int appends;
bool setInterval(double value);
std::string getInterval();
}  // namespace mongo

using namespace mongo;

// A device that takes a while, as all do: writers that ask side by side wait together, also where
// one thread after the other runs.
extern "C" int fdatasync(int) {
    usleep(2000);
    return 0;
}

static void write() {
    dur::commitJob.noteOp(1);
    dur::releasingWriteLock();
}

static void* ask(void* all_are_there) {
    pthread_barrier_wait(static_cast<pthread_barrier_t*>(all_are_there));
    for (int i = 0; i < 50; i++) {
        write();
        dur::awaitCommit();
    }
    return 0;
}

static void* journal_thread(void*) {
    dur::durThread();
    return 0;
}

static void store(const OptionTable& options) {
#ifdef HAS_MONGOD_OPTIONS
    const Status status = storeMongodOptions(options, std::vector<std::string>());
    if (!status.isOK()) {
        std::cout << status.reason() << std::endl;
        exit(2);
    }
#else
    processCommandLineOptions(options);
#endif
}

static void print_sections(const std::string& path) {
    FILE* file = fopen(path.c_str(), "r");
    std::vector<char> bytes;
    for (int c = fgetc(file); c != EOF; c = fgetc(file))
        bytes.push_back(static_cast<char>(c));
    fclose(file);
    dur::RecoveryJob& job = dur::RecoveryJob::get();
    job.sections = 0;
    job.processFileBuffer(&bytes[0], bytes.size());
    std::cout << "version " << std::hex << (bytes[2] & 0xff) << ' ' << (bytes[3] & 0xff) << " tag "
              << (bytes[8192 + 21] & 0xff) << ' ' << (bytes[8192 + 20] & 0xff) << std::dec
              << " sections " << job.sections << " bytes " << bytes.size() << std::endl;
}

int main(int argc, char** argv) {
    OptionTable options;
    dur::journalDir = argv[1];
    int i = 2;
    for (; i < argc && std::string(argv[i]) != "--"; i++) {
        const std::string word = argv[i];
        options.set(word.substr(0, word.find('=')), word.substr(word.find('=') + 1));
    }
    store(options);
    for (i++; i < argc; i++) {
        const std::string action = argv[i];
        if (action == "start") {
            dur::startup();
            pthread_t thread;
            pthread_create(&thread, 0, journal_thread, 0);
        } else if (action == "write") {
            write();
        } else if (action == "declare") {
            // One byte of a page of its own, handed in at once.
            static char pages[10 * 4096];
            static char* page = pages;
            SimpleMutex::scoped_lock lk(dur::commitJob.admitHandIn());
            dur::commitJob.note(page += 4096, 1);
        } else if (action == "ask") {
            write();
            dur::awaitCommit();
        } else if (action == "asks") {
            pthread_t threads[16];
            const int n = atoi(argv[++i]);
            pthread_barrier_t all_are_there;
            pthread_barrier_init(&all_are_there, 0, static_cast<unsigned>(n));
            for (int k = 0; k < n; k++)
                pthread_create(&threads[k], 0, ask, &all_are_there);
            for (int k = 0; k < n; k++)
                pthread_join(threads[k], 0);
            pthread_barrier_destroy(&all_are_there);
        } else if (action == "committed") {
            // The flag goes before the section is written.
            while (dur::commitJob.hasWritten())
                usleep(1000);
            SimpleMutex::scoped_lock lk(dur::commitJob.groupCommitMutex);
        } else if (action == "early") {
            dur::commitNow();
        } else if (action == "idle") {
            usleep(250000);
        } else if (action == "report") {
            std::cout << dur::report().toString() << std::endl;
        } else if (action == "appends") {
            std::cout << "appends " << appends << std::endl;
        } else if (action == "remaps") {
            std::cout << "remaps " << dur::remaps << std::endl;
        } else if (action == "interval") {
            setInterval(atof(argv[++i]));
            std::cout << getInterval() << std::endl;
        } else if (action == "read") {
            print_sections(dur::journalDir + "/j._0");
        } else {
            std::cerr << "no action " << action << std::endl;
            return 1;
        }
    }
    std::cout.flush();
    _exit(0);
}

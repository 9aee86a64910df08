// dur.cpp - a small stand-in

/* what the old file says about its stages is not repeated here; durThread() { and
   stats.rotate(); stand in this comment only as traps */

#include "mongo/skeleton.h"

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "mongo/db/storage/mmap_v1/dur.h"

#include "mongo/db/storage/mmap_v1/dur_commitjob.h"
#include "mongo/db/storage/mmap_v1/dur_journal.h"
#include "mongo/db/storage/mmap_v1/dur_recover.h"
#include "mongo/db/storage/mmap_v1/dur_stats.h"
#include "mongo/db/storage/mmap_v1/mmap_v1_options.h"
#include "mongo/db/storage/storage_options.h"
#ifdef _WIN32
#include "mongo/util/only_there.h"
#endif

using namespace std;

namespace mongo {

namespace dur {

void PREPLOGBUFFER(JSectHeader& h, AlignedBuilder& ab);
void WRITETOJOURNAL(JSectHeader h, AlignedBuilder& uncompressed);
void WRITETODATAFILES(const JSectHeader& h, AlignedBuilder& uncompressed);
void preallocateFiles();

static CommitJob& theCommitJob() { static CommitJob *job = new CommitJob(); return *job; }
CommitJob& commitJob = theCommitJob();
Stats stats;
bool running = true;
static volatile bool shuttingDown = false;
int remaps = 0;

Stats::Stats() : _lastRotate(0) {
    _a.reset();
    _b.reset();
    _current = &_a;
}

void Stats::S::reset() {
    memset(this, 0, sizeof(*this));
}

BSONObj Stats::S::_asObj() {
    BSONObjBuilder b;
    b.append("commits", _commits);
    b.append("earlyCommits", _earlyCommits);
    if (storageGlobalParams.journalCommitIntervalMs != 0)
        b.append("journalCommitIntervalMs", storageGlobalParams.journalCommitIntervalMs);
    return b.obj();
}

BSONObj Stats::asObj() { return (_current == &_a ? _b : _a)._asObj(); }

void Stats::rotate() {
    unsigned long long now = curTimeMicros64();
    if (now - _lastRotate < 3000000)
        return;
    _lastRotate = now;
    _current = _current == &_a ? &_b : &_a;
    _current->reset();
}

class DurSSS : public ServerStatusSection {
public:
    DurSSS() : ServerStatusSection("dur") { }
    virtual bool includeByDefault() const { return true; }
    BSONObj generateSection(const BSONElement& configElement) const {
        if (!running)
            return BSONObj();
        return dur::stats.asObj();
    }
} durSSS;

BSONObj report() { return durSSS.generateSection(BSONElement()); }

static void groupCommit() {
    SimpleMutex::scoped_lock lk(commitJob.groupCommitMutex);
    static AlignedBuilder ab(4 * 1024 * 1024);
    commitJob.commitingBegin();
    stats.curr()->_commits++;
    if (!commitJob.hasWritten()) {
        commitJob.commitingNotifyCommitted();
        return;
    }
    ab.reset(65536);
    JSectHeader h;
    PREPLOGBUFFER(h, ab);
    commitJob.commitingReset();
    WRITETOJOURNAL(h, ab);
    commitJob.commitingNotifyCommitted();
    WRITETODATAFILES(h, ab);
}

class DurableInterface {
public:
    virtual ~DurableInterface() { }
    virtual bool commitNow() = 0;
    virtual bool awaitCommit() = 0;
};
class NonDurableImpl : public DurableInterface {
    bool commitNow();
    bool awaitCommit() { return false; }
};
class DurableImpl : public DurableInterface {
    bool commitNow();
    bool awaitCommit();
};

bool NonDurableImpl::commitNow() { return false; }

bool DurableImpl::commitNow() {
    groupCommit();
    return true;
}

bool DurableImpl::awaitCommit() {
    commitJob._notify.awaitBeyondNow();
    return true;
}

static DurableImpl durableImpl;
static DurableInterface& impl = durableImpl;
bool awaitCommit() { return impl.awaitCommit(); }
bool commitNow() { return impl.commitNow(); }

static void REMAPPRIVATEVIEW() {
    Timer t;
    remaps++;
    stats.curr()->_remapPrivateViewMicros += t.micros();
}

const int NumCommitsBeforeRemap = 10;
stdx::mutex flushMutex;
stdx::condition_variable flushRequested;

static void durThread();

void releasingWriteLock() {
    unspoolWriteIntents();
}

static void durThread() {
    int commits = 0;
    while (!shuttingDown) {
        unsigned ms = storageGlobalParams.journalCommitIntervalMs;
        if (ms == 0) {
            ms = 100;
        }
        const unsigned oneThird = (ms / 3) + 1;

        try {
            stats.rotate();

            stdx::unique_lock<stdx::mutex> lock(flushMutex);
            for (unsigned i = 0; i <= 2; i++) {
                if (stdx::cv_status::no_timeout ==
                    flushRequested.wait_for(lock, std::chrono::milliseconds(oneThird))) {
                    break;
                }
                if (commitJob._notify.nWaiting())
                    break;
            }

            groupCommit();
            if (++commits % NumCommitsBeforeRemap == 0) {
                stats.curr()->_commitsInWriteLock++;
                REMAPPRIVATEVIEW();
            }
        } catch (std::exception& e) {
            log() << "exception in durThread " << e.what() << endl;
            throw;
        }
    }
}

void runDurThread() {
    durThread();
}

void recover();

void startup() {
    journalMakeDir();
    try {
        recover();
    }
    catch (...) {
        log() << "recovery failed" << endl;
        throw;
    }

    preallocateFiles();
}

void stop() { shuttingDown = true; }

}
}

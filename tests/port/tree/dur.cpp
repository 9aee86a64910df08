// small tree, 2.4 2.6: src/mongo/db/dur.cpp
// small tree, 3.4: src/mongo/db/storage/mmap_v1/dur.cpp
// dur.cpp - a small stand-in

/* what the old file says about its stages is not repeated here; durThread() { and
#if VERSION <= 26
   stats.rotate(); stand in this comment only as traps */
#else  // VERSION
           stats.rotate(); stand in this comment only as traps */
#endif  // VERSION

#include "mongo/skeleton.h"
#if VERSION == 34

#include <chrono>
#include <condition_variable>
#include <mutex>
#endif  // VERSION

#include "dur.h"

#include "dur_commitjob.h"
#include "dur_journal.h"
#include "dur_recover.h"
#include "dur_stats.h"
#if VERSION == 24
#include "cmdline.h"
#endif  // VERSION
#if VERSION == 34
#include "mmap_v1_options.h"
#endif  // VERSION
#if VERSION >= 26
#include "storage_options.h"
#endif  // VERSION
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
#if VERSION <= 26
        static SimpleMutex filesLockedFsync( "filesLockedFsync" );
#endif  // VERSION
        Stats stats;
        bool running = true;
        static volatile bool shuttingDown = false;
        int remaps = 0;

        Stats::Stats() : _lastRotate(0) {
            _a.reset();
            _b.reset();
#if VERSION <= 26
            curr = &_a;
#else  // VERSION
            _current = &_a;
#endif  // VERSION
        }

        void Stats::S::reset() {
            memset( this, 0, sizeof(*this) );
        }

        BSONObj Stats::S::_asObj() {
            BSONObjBuilder b;
            b.append( "commits", _commits );
            b.append( "earlyCommits", _earlyCommits );
#if VERSION == 24
            if( cmdLine.journalCommitInterval != 0 )
                b.append( "journalCommitIntervalMs", cmdLine.journalCommitInterval );
#endif  // VERSION
#if VERSION == 26
            if( storageGlobalParams.journalCommitInterval != 0 )
                b.append( "journalCommitIntervalMs", storageGlobalParams.journalCommitInterval );
#endif  // VERSION
#if VERSION == 34
            if (storageGlobalParams.journalCommitIntervalMs != 0)
                b.append("journalCommitIntervalMs", storageGlobalParams.journalCommitIntervalMs);
#endif  // VERSION
            return b.obj();
        }

#if VERSION <= 26
        BSONObj Stats::asObj() { return ( curr == &_a ? _b : _a )._asObj(); }
#else  // VERSION
BSONObj Stats::asObj() { return (_current == &_a ? _b : _a)._asObj(); }
#endif  // VERSION

        void Stats::rotate() {
            unsigned long long now = curTimeMicros64();
            if( now - _lastRotate < 3000000 )
                return;
            _lastRotate = now;
#if VERSION <= 26
            curr = curr == &_a ? &_b : &_a;
            curr->reset();
#else  // VERSION
            _current = _current == &_a ? &_b : &_a;
            _current->reset();
#endif  // VERSION
        }

        class DurSSS : public ServerStatusSection {
        public:
            DurSSS() : ServerStatusSection( "dur" ) { }
            virtual bool includeByDefault() const { return true; }
            BSONObj generateSection( const BSONElement& configElement ) const {
                if( !running )
                    return BSONObj();
                return dur::stats.asObj();
            }
        } durSSS;

        BSONObj report() { return durSSS.generateSection( BSONElement() ); }

        static void groupCommit() {
            SimpleMutex::scoped_lock lk( commitJob.groupCommitMutex );
            static AlignedBuilder ab( 4 * 1024 * 1024 );
            commitJob.commitingBegin();
#if VERSION == 34
            stats.curr()->_commits++;
#endif  // VERSION
            if( !commitJob.hasWritten() ) {
                commitJob.commitingNotifyCommitted();
                return;
            }
            ab.reset( 65536 );
            JSectHeader h;
            PREPLOGBUFFER( h, ab );
            commitJob.commitingReset();
            WRITETOJOURNAL( h, ab );
            commitJob.commitingNotifyCommitted();
            WRITETODATAFILES( h, ab );
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
#if VERSION <= 26
            stats.curr->_earlyCommits++;
#endif  // VERSION
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
#if VERSION <= 26
            stats.curr->_remapPrivateViewMicros += t.micros();
#else  // VERSION
            stats.curr()->_remapPrivateViewMicros += t.micros();
#endif  // VERSION
        }

#if VERSION <= 26
        static void durThreadGroupCommit() {
            SimpleMutex::scoped_lock flk( filesLockedFsync );
#else  // VERSION
const int NumCommitsBeforeRemap = 10;
stdx::mutex flushMutex;
stdx::condition_variable flushRequested;
#endif  // VERSION

#if VERSION <= 26
            const int N = 10;
            static int n;
            if( privateMapBytes < 100 && ( ++n % N ) && 1 ) {
                groupCommit();
            }
            else {
                groupCommit();
                if( Lock::isLocked() || true )
                    stats.curr->_commitsInWriteLock++;
                REMAPPRIVATEVIEW();
            }
#else  // VERSION
static void durThread();

void releasingWriteLock() {
            unspoolWriteIntents();
#endif  // VERSION
        }

#if VERSION <= 26
        void durThread();

        void releasingWriteLock() {
            try {
                unspoolWriteIntents();
            }
            catch( std::exception& ) {
                abort();
            }
        }

        void durThread() {
            const unsigned long long firstStart = curTimeMicros64();
#else  // VERSION
static void durThread() {
            int commits = 0;
#endif  // VERSION
            while( !shuttingDown ) {
#if VERSION == 24
                unsigned ms = cmdLine.journalCommitInterval;
#endif  // VERSION
#if VERSION == 26
                unsigned ms = storageGlobalParams.journalCommitInterval;
#endif  // VERSION
#if VERSION == 34
                unsigned ms = storageGlobalParams.journalCommitIntervalMs;
#endif  // VERSION
                if( ms == 0 ) {
#if VERSION <= 26
                    ms = firstStart ? 100 : 30;
#else  // VERSION
                    ms = 100;
#endif  // VERSION
                }
#if VERSION <= 26

                unsigned oneThird = ( ms / 3 ) + 1;
#else  // VERSION
                const unsigned oneThird = (ms / 3) + 1;
#endif  // VERSION

                try {
                    stats.rotate();

#if VERSION <= 26
                    // after a third, look for waiters
                    sleepmillis( oneThird );
                    for( unsigned i = 1; i <= 2; i++ ) {
#else  // VERSION
                    stdx::unique_lock<stdx::mutex> lock(flushMutex);
                    for (unsigned i = 0; i <= 2; i++) {
                        if (stdx::cv_status::no_timeout ==
                            flushRequested.wait_for(lock, std::chrono::milliseconds(oneThird))) {
                            break;
                        }
#endif  // VERSION
                        if( commitJob._notify.nWaiting() )
                            break;
#if VERSION <= 26
                        sleepmillis( oneThird );
#endif  // VERSION
                    }

#if VERSION <= 26
                    durThreadGroupCommit();
                }
                catch( std::exception& e ) {
#else  // VERSION
                    groupCommit();
                    if (++commits % NumCommitsBeforeRemap == 0) {
                        stats.curr()->_commitsInWriteLock++;
                        REMAPPRIVATEVIEW();
                    }
                } catch (std::exception& e) {
#endif  // VERSION
                    log() << "exception in durThread " << e.what() << endl;
                    throw;
                }
            }
#if VERSION == 34
}

void runDurThread() {
            durThread();
#endif  // VERSION
        }

        void recover();

        void startup() {
            journalMakeDir();
            try {
                recover();
            }
#if VERSION <= 26
            catch( ... ) {
#else  // VERSION
            catch (...) {
#endif  // VERSION
                log() << "recovery failed" << endl;
                throw;
            }

            preallocateFiles();
        }

        void stop() { shuttingDown = true; }

    }
}

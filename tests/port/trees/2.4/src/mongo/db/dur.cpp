// dur.cpp - a small stand-in

/* what the old file says about its stages is not repeated here; durThread() { and
   stats.rotate(); stand in this comment only as traps */

#include "mongo/skeleton.h"

#include "dur.h"

#include "dur_commitjob.h"
#include "dur_journal.h"
#include "dur_recover.h"
#include "dur_stats.h"
#include "cmdline.h"
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
        static SimpleMutex filesLockedFsync( "filesLockedFsync" );
        Stats stats;
        bool running = true;
        static volatile bool shuttingDown = false;
        int remaps = 0;

        Stats::Stats() : _lastRotate(0) {
            _a.reset();
            _b.reset();
            curr = &_a;
        }

        void Stats::S::reset() {
            memset( this, 0, sizeof(*this) );
        }

        BSONObj Stats::S::_asObj() {
            BSONObjBuilder b;
            b.append( "commits", _commits );
            b.append( "earlyCommits", _earlyCommits );
            if( cmdLine.journalCommitInterval != 0 )
                b.append( "journalCommitIntervalMs", cmdLine.journalCommitInterval );
            return b.obj();
        }

        BSONObj Stats::asObj() { return ( curr == &_a ? _b : _a )._asObj(); }

        void Stats::rotate() {
            unsigned long long now = curTimeMicros64();
            if( now - _lastRotate < 3000000 )
                return;
            _lastRotate = now;
            curr = curr == &_a ? &_b : &_a;
            curr->reset();
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
            stats.curr->_earlyCommits++;
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
            stats.curr->_remapPrivateViewMicros += t.micros();
        }

        static void durThreadGroupCommit() {
            SimpleMutex::scoped_lock flk( filesLockedFsync );

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
        }

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
            while( !shuttingDown ) {
                unsigned ms = cmdLine.journalCommitInterval;
                if( ms == 0 ) {
                    ms = firstStart ? 100 : 30;
                }

                unsigned oneThird = ( ms / 3 ) + 1;

                try {
                    stats.rotate();

                    // after a third, look for waiters
                    sleepmillis( oneThird );
                    for( unsigned i = 1; i <= 2; i++ ) {
                        if( commitJob._notify.nWaiting() )
                            break;
                        sleepmillis( oneThird );
                    }

                    durThreadGroupCommit();
                }
                catch( std::exception& e ) {
                    log() << "exception in durThread " << e.what() << endl;
                    throw;
                }
            }
        }

        void recover();

        void startup() {
            journalMakeDir();
            try {
                recover();
            }
            catch( ... ) {
                log() << "recovery failed" << endl;
                throw;
            }

            preallocateFiles();
        }

        void stop() { shuttingDown = true; }

    }
}

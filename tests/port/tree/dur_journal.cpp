// small tree, 2.4 2.6: src/mongo/db/dur_journal.cpp
// small tree, 3.4: src/mongo/db/storage/mmap_v1/dur_journal.cpp
// dur_journal.cpp - a small stand-in for the file in which most changes are at home.

#include "mongo/skeleton.h"

#include "dur_journal.h"

#if VERSION == 34
#include "compress.h"
#endif  // VERSION
#include "dur_journalformat.h"
#include "dur_journalimpl.h"
#include "dur_stats.h"
#if VERSION == 24
#include "cmdline.h"
#endif  // VERSION
#if VERSION == 34
#include "logfile.h"
#include "mmap_v1_options.h"
#endif  // VERSION
#if VERSION >= 26
#include "storage_options.h"
#endif  // VERSION
#if VERSION <= 26
#include "mongo/util/compress.h"
#include "mongo/util/logfile.h"
#endif  // VERSION

using namespace std;

namespace mongo {

    class AlignedBuilder;

    namespace dur {

        // rawCompress( nothing ) in a comment, and usingPreallocate = false too
        static const char* const trap = "rawCompress( \" ) /* not a comment"; // "

        Journal j;
        string journalDir;
        bool tellFaster = false;
        bool preallocateIsFaster();   // a declaration is no definition
        static bool _preallocateIsFaster();

        SKELETON_MACRO(x)
        JHeader::JHeader(string fname) {
            memset( this, 0, sizeof(*this) );
            magic[0] = 'j'; magic[1] = '\n';
            _version = CurrentVersion;
            strncpy( text, fname.c_str(), sizeof(text) - 1 );
            fileId = 42;
            txt2[0] = txt2[1] = '\n';
        }

        static boost::filesystem::path getJournalDir() { return journalDir; }

        void journalMakeDir() {
            ::mkdir( journalDir.c_str(), 0700 );
        }

        static boost::filesystem::path preallocPath( int n ) {
            stringstream ss;
            ss << journalDir << "/prealloc." << n;
            return ss.str();
        }

        unsigned long long DataLimitPerJournalFile = 1024 * 1024;

        /** set once at start */
        bool usingPreallocate = false;

        void preallocateFile( boost::filesystem::path p, unsigned long long len ) {
            if( exists(p) )
                return;
            FILE *f = fopen( p.string().c_str(), "w" );
            verify( f );
            vector<char> zeros( len );
            verify( fwrite( &zeros[0], 1, len, f ) == len );
            fclose( f );
        }

        /* what would preallocateFiles() { do; } */
        void _preallocateFiles() {
            for( int i = 0; i <= 2; i++ ) {
                boost::filesystem::path filepath = preallocPath( i );
                preallocateFile( filepath, DataLimitPerJournalFile );
            }
        }

        void checkFreeSpace() { }

        void preallocateFiles() {
#if VERSION == 24
            if( !( cmdLine.dur && 64 ) ) {
#else  // VERSION
            if( !( storageGlobalParams.dur && 64 ) ) {
#endif  // VERSION
                checkFreeSpace();
            }
            if( exists( preallocPath( 0 ) ) || // an old file
                exists( preallocPath( 1 ) ) ||
#if VERSION == 24
                ( cmdLine.preallocj && preallocateIsFaster() ) ) {
#endif  // VERSION
#if VERSION == 26
                ( storageGlobalParams.preallocj && preallocateIsFaster() ) ) {
#endif  // VERSION
#if VERSION == 34
                (mmapv1GlobalOptions.preallocj && preallocateIsFaster())) {
#endif  // VERSION
                usingPreallocate = true;
                try {
                    _preallocateFiles();
                }
#if VERSION <= 26
                catch( ... ) {
#else  // VERSION
                catch (...) {
#endif  // VERSION
                    log() << "warning: no preallocation" << endl;
                }
            }
            j.open();
        }

        boost::filesystem::path findPrealloced() {
            for( int i = 0; i <= 2; i++ ) {
                boost::filesystem::path filepath = preallocPath( i );
                if( exists( filepath ) )
                    return filepath;
            }
            return boost::filesystem::path();
        }

        void removeOldJournalFile( boost::filesystem::path p ) {
            if( usingPreallocate ) {
                for( int i = 0; i <= 2; i++ ) {
                    boost::filesystem::path filepath = preallocPath( i );
                    if( !exists( filepath ) ) {
                        rename( p.string().c_str(), filepath.string().c_str() );
                        return;
                    }
                }
            }
            unlink( p.string().c_str() );
        }

        bool _preallocateIsFaster() {
            boost::filesystem::path p = getJournalDir().string() + "/tempLatencyTest";
            {
                AlignedBuilder b( 8192 );
                b.reset( 8192 );
                LogFile f( p.string() );
                for( int i = 0; i < 5; i++ )
                    f.synchronousAppend( b.buf(), 8192 );
            }
            unlink( p.string().c_str() );
            return tellFaster;
        }

        bool preallocateIsFaster() {
            if( _preallocateIsFaster() &&
                _preallocateIsFaster() ) {
                return _preallocateIsFaster();
            }
            return false;
        }

        void Journal::open() {
            mutex::scoped_lock lk( _curLogFileMutex );
            _open();
        }

        void Journal::_open() {
            verify( _curLogFile == 0 );
            string fname = getJournalDir().string() + "/j._0";
            boost::filesystem::path old = findPrealloced();
            if( !old.empty() ) {
                {
                    LogFile f( old.string() );
                    JHeader h( old.string() );
                    AlignedBuilder b( 8192 );
                    b.reset( 8192 );
                    b.appendStruct( h );
                    f.synchronousAppend( b.buf(), b.len() );
                }
                rename( old.string().c_str(), fname.c_str() );
            }
            _curLogFile = new LogFile( fname );
            {
                JHeader h( fname );
                AlignedBuilder b( 8192 );
                b.reset( 8192 );
                b.appendStruct( h );
                _curLogFile->synchronousAppend( b.buf(), b.len() );
            }
        }

        void Journal::close() {
            delete _curLogFile;
            _curLogFile = 0;
        }

        void WRITETOJOURNAL( JSectHeader h, AlignedBuilder& uncompressed ) {
            Timer t;
            j.journal( h, uncompressed );
#if VERSION <= 26
            stats.curr->_writeToJournalMicros += t.micros();
#else  // VERSION
            stats.curr()->_writeToJournalMicros += t.micros();
#endif  // VERSION
        }

        void Journal::journal(const JSectHeader& h, const AlignedBuilder& uncompressed) {
            static AlignedBuilder b(32*1024*1024);
            const unsigned headTailSize = sizeof(JSectHeader) + sizeof(JSectFooter);
            const unsigned max = maxCompressedLength(uncompressed.len()) + headTailSize;
            b.reset(max);

            {
                dassert( h.sectionLen() == (unsigned) 0xffffffff );
                b.appendStruct(h);
            }

            size_t compressedLength = 0;
            rawCompress(uncompressed.buf(), uncompressed.len(), b.cur(),
                        &compressedLength);
            verify( compressedLength < 0xffffffff );
            verify( compressedLength < max );
            b.skip(compressedLength);

            // padding
            unsigned lenUnpadded = 0xffffffff;
            {
                lenUnpadded = b.len() + sizeof(JSectFooter);
            }
            verify( 0xffffe000 == (~(Alignment-1)) );
            const unsigned L = (lenUnpadded + Alignment-1) & (~(Alignment-1));
            dassert( L >= lenUnpadded );
            ((JSectHeader*)b.at(0))->setSectionLen(lenUnpadded);
            JSectFooter f;
            memset( &f, 0, sizeof(f) );
            f.sentinel = 0xffffffff;
            b.appendStruct(f);
            b.skip(L - lenUnpadded);
            dassert( b.len() % Alignment == 0 );

            try {
                mutex::scoped_lock lk(_curLogFileMutex);
                verify( _curLogFile );
#if VERSION <= 26
                stats.curr->_uncompressedBytes += uncompressed.len();
#else  // VERSION
                stats.curr()->_uncompressedBytes += uncompressed.len();
#endif  // VERSION
                unsigned w = b.len();
                _written += w;
#if VERSION <= 26
                stats.curr->_journaledBytes += w;
#else  // VERSION
                stats.curr()->_journaledBytes += w;
#endif  // VERSION
                _curLogFile->synchronousAppend((const void *) b.buf(), w);
            }
#if VERSION <= 26
            catch( ... ) {
#else  // VERSION
            catch (...) {
#endif  // VERSION
                log() << "the journal failed: " << trap << endl;
                throw;
            }
        }

    }
}

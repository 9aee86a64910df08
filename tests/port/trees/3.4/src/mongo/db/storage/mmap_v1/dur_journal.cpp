// dur_journal.cpp - a small stand-in for the file in which most changes are at home.

#include "mongo/skeleton.h"

#include "mongo/db/storage/mmap_v1/dur_journal.h"

#include "mongo/db/storage/mmap_v1/compress.h"
#include "mongo/db/storage/mmap_v1/dur_journalformat.h"
#include "mongo/db/storage/mmap_v1/dur_journalimpl.h"
#include "mongo/db/storage/mmap_v1/dur_stats.h"
#include "mongo/db/storage/mmap_v1/logfile.h"
#include "mongo/db/storage/mmap_v1/mmap_v1_options.h"
#include "mongo/db/storage/storage_options.h"

using namespace std;

namespace mongo {

class AlignedBuilder;

namespace dur {

// rawCompress(nothing) in a comment, and usingPreallocate = false too
static const char* const trap = "rawCompress(\") /* not a comment"; // "

Journal j;
string journalDir;
bool tellFaster = false;
bool preallocateIsFaster();   // a declaration is no definition
static bool _preallocateIsFaster();

SKELETON_MACRO(x)
JHeader::JHeader(string fname) {
    memset(this, 0, sizeof(*this));
    magic[0] = 'j'; magic[1] = '\n';
    _version = CurrentVersion;
    strncpy(text, fname.c_str(), sizeof(text) - 1);
    fileId = 42;
    txt2[0] = txt2[1] = '\n';
}

static boost::filesystem::path getJournalDir() { return journalDir; }

void journalMakeDir() {
    ::mkdir(journalDir.c_str(), 0700);
}

static boost::filesystem::path preallocPath(int n) {
    stringstream ss;
    ss << journalDir << "/prealloc." << n;
    return ss.str();
}

unsigned long long DataLimitPerJournalFile = 1024 * 1024;

/** set once at start */
bool usingPreallocate = false;

void preallocateFile(boost::filesystem::path p, unsigned long long len) {
    if (exists(p))
        return;
    FILE *f = fopen(p.string().c_str(), "w");
    verify(f);
    vector<char> zeros(len);
    verify(fwrite(&zeros[0], 1, len, f) == len);
    fclose(f);
}

/* what would preallocateFiles() { do; } */
void _preallocateFiles() {
    for (int i = 0; i <= 2; i++) {
        boost::filesystem::path filepath = preallocPath(i);
        preallocateFile(filepath, DataLimitPerJournalFile);
    }
}

void checkFreeSpace() { }

void preallocateFiles() {
    if (!(storageGlobalParams.dur && 64)) {
        checkFreeSpace();
    }
    if (exists(preallocPath(0)) || // an old file
        exists(preallocPath(1)) ||
        (mmapv1GlobalOptions.preallocj && preallocateIsFaster())) {
        usingPreallocate = true;
        try {
            _preallocateFiles();
        }
        catch (...) {
            log() << "warning: no preallocation" << endl;
        }
    }
    j.open();
}

boost::filesystem::path findPrealloced() {
    for (int i = 0; i <= 2; i++) {
        boost::filesystem::path filepath = preallocPath(i);
        if (exists(filepath))
            return filepath;
    }
    return boost::filesystem::path();
}

void removeOldJournalFile(boost::filesystem::path p) {
    if (usingPreallocate) {
        for (int i = 0; i <= 2; i++) {
            boost::filesystem::path filepath = preallocPath(i);
            if (!exists(filepath)) {
                rename(p.string().c_str(), filepath.string().c_str());
                return;
            }
        }
    }
    unlink(p.string().c_str());
}

bool _preallocateIsFaster() {
    boost::filesystem::path p = getJournalDir().string() + "/tempLatencyTest";
    {
        AlignedBuilder b(8192);
        b.reset(8192);
        LogFile f(p.string());
        for (int i = 0; i < 5; i++)
            f.synchronousAppend(b.buf(), 8192);
    }
    unlink(p.string().c_str());
    return tellFaster;
}

bool preallocateIsFaster() {
    if (_preallocateIsFaster() &&
        _preallocateIsFaster()) {
        return _preallocateIsFaster();
    }
    return false;
}

void Journal::open() {
    mutex::scoped_lock lk(_curLogFileMutex);
    _open();
}

void Journal::_open() {
    verify(_curLogFile == 0);
    string fname = getJournalDir().string() + "/j._0";
    boost::filesystem::path old = findPrealloced();
    if (!old.empty()) {
        {
            LogFile f(old.string());
            JHeader h(old.string());
            AlignedBuilder b(8192);
            b.reset(8192);
            b.appendStruct(h);
            f.synchronousAppend(b.buf(), b.len());
        }
        rename(old.string().c_str(), fname.c_str());
    }
    _curLogFile = new LogFile(fname);
    {
        JHeader h(fname);
        AlignedBuilder b(8192);
        b.reset(8192);
        b.appendStruct(h);
        _curLogFile->synchronousAppend(b.buf(), b.len());
    }
}

void Journal::close() {
    delete _curLogFile;
    _curLogFile = 0;
}

void WRITETOJOURNAL(JSectHeader h, AlignedBuilder& uncompressed) {
    Timer t;
    j.journal(h, uncompressed);
    stats.curr()->_writeToJournalMicros += t.micros();
}

void Journal::journal(const JSectHeader& h, const AlignedBuilder& uncompressed) {
    static AlignedBuilder b(32*1024*1024);
    const unsigned headTailSize = sizeof(JSectHeader) + sizeof(JSectFooter);
    const unsigned max = maxCompressedLength(uncompressed.len()) + headTailSize;
    b.reset(max);

    {
        dassert(h.sectionLen() == (unsigned) 0xffffffff);
        b.appendStruct(h);
    }

    size_t compressedLength = 0;
    rawCompress(uncompressed.buf(), uncompressed.len(), b.cur(),
                &compressedLength);
    verify(compressedLength < 0xffffffff);
    verify(compressedLength < max);
    b.skip(compressedLength);

    // padding
    unsigned lenUnpadded = 0xffffffff;
    {
        lenUnpadded = b.len() + sizeof(JSectFooter);
    }
    verify(0xffffe000 == (~(Alignment-1)));
    const unsigned L = (lenUnpadded + Alignment-1) & (~(Alignment-1));
    dassert(L >= lenUnpadded);
    ((JSectHeader*)b.at(0))->setSectionLen(lenUnpadded);
    JSectFooter f;
    memset(&f, 0, sizeof(f));
    f.sentinel = 0xffffffff;
    b.appendStruct(f);
    b.skip(L - lenUnpadded);
    dassert(b.len() % Alignment == 0);

    try {
        mutex::scoped_lock lk(_curLogFileMutex);
        verify(_curLogFile);
        stats.curr()->_uncompressedBytes += uncompressed.len();
        unsigned w = b.len();
        _written += w;
        stats.curr()->_journaledBytes += w;
        _curLogFile->synchronousAppend((const void *) b.buf(), w);
    }
    catch (...) {
        log() << "the journal failed: " << trap << endl;
        throw;
    }
}

}
}

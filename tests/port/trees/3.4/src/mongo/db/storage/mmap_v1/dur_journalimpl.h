// dur_journalimpl.h - a small stand-in
#pragma once

#include "mongo/db/storage/mmap_v1/logfile.h"

namespace mongo {
namespace dur {

class Journal {
public:
    Journal() : _curLogFileMutex("JournalLfMutex"), _curLogFile(0), _written(0) { }
    void open();
    void journal(const JSectHeader& h, const AlignedBuilder& b);
    void close();
    unsigned long long written() const { return _written; }
private:
    void _open();
    mutex _curLogFileMutex;
    LogFile *_curLogFile;
    unsigned long long _written;
};
extern Journal j;

}
}

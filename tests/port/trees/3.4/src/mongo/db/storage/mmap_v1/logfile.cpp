// logfile.cpp - a small stand-in

#include "mongo/db/storage/mmap_v1/logfile.h"

#include <fcntl.h>

namespace mongo {

int appends = 0;

#if defined(_WIN32)

LogFile::LogFile(const std::string& name) {
    _fd = CreateFile(name.c_str(), GENERIC_WRITE, FILE_SHARE_READ, NULL, OPEN_ALWAYS,
                      FILE_FLAG_NO_BUFFERING, NULL);
}

void LogFile::synchronousAppend(const void *data, unsigned long long n) {
    WriteFile(_fd, data, n);
}

#else

LogFile::LogFile(const std::string& name) {
    _fd = open(name.c_str(), O_CREAT | O_WRONLY, 0600);
    verify(_fd >= 0);
}

LogFile::~LogFile() { ::close(_fd); }

void LogFile::synchronousAppend(const void *data, unsigned long long n) {
    verify(::write(_fd, data, n) == (ssize_t) n);
    verify(fdatasync(_fd) == 0);
    appends++;
}

#endif

}

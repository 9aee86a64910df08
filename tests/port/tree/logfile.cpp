// small tree, 2.4 2.6: src/mongo/util/logfile.cpp
// small tree, 3.4: src/mongo/db/storage/mmap_v1/logfile.cpp
// logfile.cpp - a small stand-in

#if VERSION <= 26
#include "mongo/util/logfile.h"
#else  // VERSION
#include "logfile.h"
#endif  // VERSION

#include <fcntl.h>

namespace mongo {

    int appends = 0;

#if defined(_WIN32)

    LogFile::LogFile(const std::string& name) {
#if VERSION <= 26
        _fd = CreateFile( name.c_str(), GENERIC_WRITE, FILE_SHARE_READ, NULL, OPEN_ALWAYS,
#endif  // VERSION
#if VERSION == 24
                          FILE_FLAG_NO_BUFFERING   // unbuffered
                          | FILE_FLAG_WRITE_THROUGH,
                          NULL );
#endif  // VERSION
#if VERSION == 26
                          FILE_FLAG_NO_BUFFERING, NULL );
#endif  // VERSION
#if VERSION == 34
            _fd = CreateFile(name.c_str(), GENERIC_WRITE, FILE_SHARE_READ, NULL, OPEN_ALWAYS,
                              FILE_FLAG_NO_BUFFERING, NULL);
#endif  // VERSION
    }

    void LogFile::synchronousAppend(const void *data, unsigned long long n) {
#if VERSION <= 26
        WriteFile( _fd, data, n );
#else  // VERSION
            WriteFile(_fd, data, n);
#endif  // VERSION
    }

#else

    LogFile::LogFile(const std::string& name) {
#if VERSION <= 26
        _fd = open( name.c_str(), O_CREAT | O_WRONLY, 0600 );
        verify( _fd >= 0 );
#else  // VERSION
            _fd = open(name.c_str(), O_CREAT | O_WRONLY, 0600);
            verify(_fd >= 0);
#endif  // VERSION
    }

    LogFile::~LogFile() { ::close( _fd ); }

    void LogFile::synchronousAppend(const void *data, unsigned long long n) {
#if VERSION <= 26
        verify( ::write( _fd, data, n ) == (ssize_t) n );
        verify( fdatasync( _fd ) == 0 );
        appends++;
#else  // VERSION
            verify(::write(_fd, data, n) == (ssize_t) n);
            verify(fdatasync(_fd) == 0);
            appends++;
#endif  // VERSION
    }

#endif

}

#pragma once

#include "mongo/skeleton.h"

namespace mongo {

class LogFile {
public:
    explicit LogFile(const std::string& name);
    ~LogFile();
    void synchronousAppend(const void* data, unsigned long long n);

private:
    int _fd;
};

}  // namespace mongo

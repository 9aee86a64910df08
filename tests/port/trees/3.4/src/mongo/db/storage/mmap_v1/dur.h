// dur.h - a small stand-in, with what the tests call
#pragma once

#include "mongo/skeleton.h"

namespace mongo {
class BSONElement { };
class ServerStatusSection {
public:
explicit ServerStatusSection(const char*) { }
virtual ~ServerStatusSection() { }
};
const unsigned long long privateMapBytes = 0;
namespace dur {
bool awaitCommit();
bool commitNow();
void releasingWriteLock();
void runDurThread();
void startup();
void stop();
BSONObj report();
extern int remaps;
}
}

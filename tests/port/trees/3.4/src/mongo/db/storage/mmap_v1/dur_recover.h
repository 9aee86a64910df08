// dur_recover.h - a small stand-in
#pragma once

#include "mongo/db/storage/mmap_v1/dur_journalformat.h"

namespace mongo {
namespace dur {

class RecoveryJob {
public:
    RecoveryJob() : _recovering(false), sections(0) { }
    bool processFileBuffer(const void *p, unsigned len);
    void processSection(unsigned len) { write(len); }
    static RecoveryJob& get() { static RecoveryJob job; return job; }
    bool _recovering;
    int sections;
private:
    void write(unsigned len);
};
void recover();

}
}

// small tree, 3.4: src/mongo/db/storage/mmap_v1/mmap_v1_options.h
// mmap_v1_options.h - a small stand-in
#pragma once

namespace mongo {

struct MMAPV1Options {
            MMAPV1Options() : preallocj(true) {}
            bool preallocj;
};
extern MMAPV1Options mmapv1GlobalOptions;

}  // namespace mongo

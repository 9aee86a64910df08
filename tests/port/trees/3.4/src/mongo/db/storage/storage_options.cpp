// storage_options.cpp - a small stand-in

#include "mongo/db/storage/storage_options.h"

#include "mongo/db/storage/mmap_v1/mmap_v1_options.h"

namespace mongo {

StorageGlobalParams storageGlobalParams;
MMAPV1Options mmapv1GlobalOptions;

}  // namespace mongo

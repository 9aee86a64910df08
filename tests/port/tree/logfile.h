// small tree, 3.4: src/mongo/db/storage/mmap_v1/logfile.h
// logfile.h - a small stand-in: 3.4 has it here, and what is in it is alike in all versions
#pragma once

#include "mongo/util/logfile.h"

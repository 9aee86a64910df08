// small tree, 3.4: src/mongo/db/storage/mmap_v1/compress.h
// compress.h - a small stand-in: 3.4 has it here, and what is in it is alike in all versions
#pragma once

#include "mongo/util/compress.h"

// storage/mmapv1/mapping/random_access.h - how the system shall read data files.
#pragma once

namespace mmapv1 {

// Whether it shall read no page of a data file but those that are looked at or asked for
// (MappedFile::wants_read_ahead). Never so in the base: there it reads as many around each page as
// the read-ahead of the device says.
bool expects_random_access();

}  // namespace mmapv1

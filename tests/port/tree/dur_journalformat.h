// small tree, 2.4 2.6: src/mongo/db/dur_journalformat.h
// small tree, 3.4: src/mongo/db/storage/mmap_v1/dur_journalformat.h
// dur_journalformat.h - a small stand-in: the names, nesting and traps of the old file.
#pragma once

#include "mongo/skeleton.h"

namespace mongo {

    namespace dur {

        // Not the place: sectionLenWithPadding(), unsigned short _version; Alignment = 4096.
        const unsigned Alignment = 8192;

#pragma pack(1)
        struct JHeader {
            JHeader() { }
            JHeader( string fname );

            char magic[2];

#if defined(_NOCOMPRESS)
            enum { CurrentVersion = 0x4148 };
#else
            enum { CurrentVersion = 0x4149 };
#endif
#if VERSION == 24
            // what the rest of the file looks like
            unsigned short _version;
#else  // VERSION
            unsigned short _version;   // what the rest of the file looks like
#endif  // VERSION

            char text[152];
            unsigned long long fileId;
            char reserved[8026];
            char txt2[2];

            bool versionOk() const { return _version == CurrentVersion; }
            bool valid() const { return magic[0] == 'j' && txt2[1] == '\n' && fileId; }
        };
        typedef char HeaderIsOneUnit[ sizeof(JHeader) == 8192 ? 1 : -1 ];

        struct JSectHeader {
        private:
            unsigned _sectionLen;
        public:
            unsigned long long seqNumber;
            unsigned long long fileId;

            unsigned sectionLen() const { return _sectionLen; }
            void setSectionLen( unsigned n ) { _sectionLen = n; }

            // padded out to Alignment
            unsigned sectionLenWithPadding() const {
                unsigned x = ( sectionLen() + (Alignment-1) ) & ( ~( Alignment - 1 ) );
                dassert( x % Alignment == 0 );
                return x;
            }
        };

        struct JSectFooter {
            unsigned sentinel;
            char rest[28];
        };
#pragma pack()

    }

}

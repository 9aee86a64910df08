// journal/file_reader.h - reading one journal file back, section by section (journal
// spec 4.3, 4.5).
//
// A file that was cut exactly between two sections looks like one that ended there. Sequence
// numbers never fall inside of a file; old servers gave many sections the same (journal spec 2.9),
// so that one which was written over the next with its number is not noticed.
//
// The last file of a journal may end anywhere: the machine can lose power during any write. What
// decides is whether something after the bad place was certainly written later. Appends are synced
// one by one, so an intact section of this file behind a bad one means that acknowledged data was
// damaged: the reader then refuses instead of dropping it silently.
//
//   what the reader meets                               last file     other files
//   ------------------------------------------------    -----------   -----------
//   end of file at a section border                     clean end     clean end
//   end of file within the padding behind a section     clean end     13535
//   nothing of this file's life, or beyond the end      end           13535
//   section with wrong length, footer or checksum       end, warned   13535
//   any of these, and an intact section behind it,      13594         13535
//     or what claims to be sections of more than eight
//     times its length
//   intact section whose content does not decode        15874 13546   same
//   intact section with a smaller sequence number       13594         same
//     than the one before it: it stood elsewhere
//   shorter than its header, or header invalid with     end           13535
//     nothing but zeros behind it
//   header invalid with something behind it             13537         13535
//   larger than 8 GB                                    13537         13537
//   version this build does not read                    13536         13536
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "journal/format.h"
#include "journal/section.h"
#include "os/file_system.h"

namespace journal {

class FileReader {
  public:
    // Opens and checks the header. Throws base::Error as in the table.
    FileReader(os::FileSystem& files, const std::string& path, bool is_last);

    struct Section {
        uint64_t offset = 0;
        SectionFields header;
        std::vector<uint8_t> ops;  // decoded
    };
    // False at the end of what the file holds. Throws base::Error as in the table.
    bool next(Section& section);

    // After next() returned false: why, in words; empty for a clean end.
    const std::string& end_reason() const { return end_reason_; }
    uint64_t file_id() const { return header_.file_id; }
    const FileHeader& header() const { return header_; }
    const FileFormat& format() const { return format_; }
    // Where the next section would start.
    uint64_t offset() const { return offset_; }

  private:
    void read_header();
    bool only_zeros_from(uint64_t offset);
    std::vector<uint8_t> read(uint64_t offset, uint64_t bytes);
    SectionView look_at(uint64_t offset, std::vector<uint8_t>& storage);
    bool intact_section_behind(uint64_t offset);
    void end(const std::string& reason);

    const std::string path_;
    const bool is_last_;
    std::unique_ptr<os::File> file_;
    uint64_t length_ = 0;
    FileHeader header_{};
    FileFormat format_ = kClassicFormat;
    uint64_t offset_ = kFileHeaderBytes;
    uint64_t last_sequence_ = 0;
    bool ended_ = false;
    std::string end_reason_;
};

}  // namespace journal

#include "journal/file_reader.h"

#include <algorithm>

#include "base/damage.h"
#include "base/dcheck.h"
#include "base/log.h"

namespace journal {

namespace {

constexpr uint64_t kChunkBytes = uint64_t{1} << 20;
// Twice the largest size at which a file is left for the next one; reading a larger one to its end
// may take hours.
constexpr uint64_t kFileBytesMax = uint64_t{8} << 30;

}  // namespace

FileReader::FileReader(os::FileSystem& files, const std::string& path, bool is_last)
    : path_(path), is_last_(is_last), file_(files.open(path, {.access = os::Access::read})) {
    length_ = file_->length();
    if (length_ > kFileBytesMax)
        base::fail(base::Damaged{13537},
                   "{} has {} bytes, and no server makes a journal file so large. Restore the file "
                   "from a copy; or, to give up what it holds, move it away and start again",
                   path_, length_);
    read_header();
}

void FileReader::read_header() {
    if (length_ < kFileHeaderBytes) {
        if (length_ == 0) base::log::info("recover info {} has zero length", path_);
        end("the file is shorter than its header");
        return;
    }
    file_->read_at(0, {reinterpret_cast<uint8_t*>(&header_), sizeof header_});
    if (header_.magic[0] != 'j' || header_.lf4[1] != '\n' || header_.file_id == 0) {
        if (is_last_ && !only_zeros_from(kFileHeaderBytes))
            base::fail(base::Damaged{13537},
                       "journal file {} has no valid header, but there is data behind it. Restore "
                       "the file from a copy; or, to give up what it holds, move it away and start "
                       "again",
                       path_);
        end("the file header is not valid");
        return;
    }
    const uint16_t version = header_.version;
    const std::optional<FileFormat> format = format_of(version);
    if (!format) {
        const std::string text = fmt::format(
            "journal file version number mismatch got:{:x} expected:{:x}. if you have "
            "just upgraded, recover with old version of mongod, terminate cleanly, "
            "then upgrade. file: {}",
            version, kClassicFormat.version, path_);
        base::log::error("{}", text);
        throw base::Error(13536, text);
    }
    format_ = *format;
    DCHECK(kFileHeaderBytes % format_.unit == 0);
}

bool FileReader::next(Section& section) {
    if (ended_) return false;
    if (offset_ >= length_) {
        if (offset_ > length_ && !is_last_) end("it ends within the padding of its last section");
        ended_ = true;
        return false;
    }
    std::vector<uint8_t> bytes;
    const SectionView view = look_at(offset_, bytes);
    switch (view.state) {
        case SectionState::complete:
            if (view.header.sequence < last_sequence_)
                base::fail(base::Damaged{13594},
                           "the section at offset {} of {} has the sequence number {} behind one "
                           "with {}: sections were written over each other or are out of order. "
                           "Restore the file from a copy, or the whole dbpath from a backup",
                           offset_, path_, view.header.sequence, last_sequence_);
            last_sequence_ = view.header.sequence;
            section.offset = offset_;
            section.header = view.header;
            try {
                section.ops = decode_payload(view.payload);
            } catch (const base::Error& e) {
                base::fail(base::Damaged{e.code()},
                           "{}: the section at offset {} of {} has a good checksum, but its "
                           "content is damaged. Restore the file from a copy, or the whole dbpath "
                           "from a backup",
                           e.what(), offset_, path_);
            }
            DCHECK(carries(view, section.ops));
            DCHECK(section.header.file_id == header_.file_id);
            offset_ += round_up(view.header.length, format_.unit);
            return true;
        case SectionState::foreign:
            end(fmt::format("no section of this file at offset {}", offset_));
            return false;
        case SectionState::cut_off:
            end(fmt::format("the section at offset {} goes beyond the end of the file", offset_));
            return false;
        case SectionState::damaged:
            break;
    }
    base::log::warning(
        "journal section at offset {} of {} is not complete: checksum or length "
        "is wrong",
        offset_, path_);
    end(fmt::format("the section at offset {} is not complete", offset_));
    return false;
}

// The section at `offset`; its bytes are read into `storage`.
SectionView FileReader::look_at(uint64_t offset, std::vector<uint8_t>& storage) {
    DCHECK(offset < length_ && offset % format_.unit == 0);
    const uint64_t rest = length_ - offset;
    storage = read(offset, std::min<uint64_t>(rest, sizeof(SectionHeader)));
    const SectionView first = view_section(storage, header_.file_id);
    if (first.state != SectionState::cut_off || first.header.length > rest) return first;
    storage = read(offset, first.header.length);
    return view_section(storage, header_.file_id);
}

// Sections lie side by side, so that all that were ever written are no longer than the file. Only
// a crafted one claims more, and might have a start read on for days.
bool FileReader::intact_section_behind(uint64_t offset) {
    constexpr uint64_t kTimesReadMax = 8;
    std::vector<uint8_t> bytes;
    uint64_t claimed = 0;
    for (offset += format_.unit; offset < length_; offset += format_.unit) {
        if (look_at(offset, bytes).state == SectionState::complete) return true;
        claimed += bytes.size();
        if (claimed / kTimesReadMax > length_)
            base::fail(base::Damaged{13594},
                       "journal file {} ends at offset {}, and what lies behind says in too many "
                       "places that it is a section. Restore the file from a copy; or, to give up "
                       "everything from that offset on, truncate the file there and start again",
                       path_, offset_);
    }
    return false;
}

void FileReader::end(const std::string& reason) {
    DCHECK(!ended_ && !reason.empty());
    if (!is_last_) {
        base::log::error("recover error: abrupt end to file {}, yet it isn't the last journal file",
                         path_);
        base::fail(base::Damaged{13535},
                   "abrupt end of journal file {} ({}), yet it isn't the last journal file. Some "
                   "file of the journal is damaged or missing: restore the journal directory from "
                   "a copy, or restore the whole dbpath from a backup",
                   path_, reason);
    }
    ended_ = true;
    end_reason_ = reason;
    if (header_.file_id == 0 || offset_ >= length_ || !intact_section_behind(offset_)) return;
    base::fail(base::Damaged{13594},
               "journal checksum doesn't match: {} of {}, but sections written later are intact, "
               "so committed data was damaged. Restore the file from a copy; or, to give up "
               "everything from that offset on, truncate the file there and start again",
               reason, path_);
}

bool FileReader::only_zeros_from(uint64_t offset) {
    for (; offset < length_; offset += kChunkBytes) {
        const std::vector<uint8_t> chunk = read(offset, std::min(kChunkBytes, length_ - offset));
        if (std::any_of(chunk.begin(), chunk.end(), [](uint8_t b) { return b != 0; })) return false;
    }
    return true;
}

std::vector<uint8_t> FileReader::read(uint64_t offset, uint64_t bytes) {
    DCHECK(bytes <= length_ && offset <= length_ - bytes);  // not what a damaged length claims
    std::vector<uint8_t> result(bytes);
    result.resize(file_->read_at(offset, result));
    return result;
}

}  // namespace journal

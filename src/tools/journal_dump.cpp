#include "tools/journal_dump.h"

#include <fmt/ostream.h>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/escape_control_chars.h"
#include "journal/format.h"
#include "journal/journal.h"
#include "journal/op_stream.h"
#include "journal/section.h"

namespace tools {

namespace {

using journal::SectionState;

std::string hex(std::span<const uint8_t> bytes) {
    std::string text;
    for (const uint8_t byte : bytes)
        text += fmt::format("{:02x}", byte);
    return text;
}

std::string text_field(const char* field, size_t size) {
    return base::escape_control_chars({field, std::find(field, field + size, '\0')});
}

std::string version_text(uint16_t version) {
    const auto format = journal::format_of(version);
    if (!format) return fmt::format("{:04x} (not one that this program reads)", version);
    return fmt::format("{:04x} (sections begin at multiples of {})", version, format->unit);
}

// One file, from header to end.
class Dump {
  public:
    Dump(os::FileSystem& files, const std::string& path, const DumpOptions& options,
         std::ostream& out)
        : options_(options),
          out_(out),
          file_(files.open(path, {.access = os::Access::read})),
          length_(file_->length()) {
        fmt::print(out_, "{}: {} bytes\n", base::escape_control_chars(path), length_);
    }

    DumpResult run() {
        if (!show_header()) {
            note_early_end();
            return result_;
        }
        uint64_t offset = journal::kFileHeaderBytes;
        while (offset < length_) {
            std::vector<uint8_t> bytes;
            const journal::SectionView view = look_at(offset, bytes);
            if (view.state == SectionState::complete) {
                show_section(offset, view);
                offset += journal::round_up(view.header.length, unit_);
                continue;
            }
            show_break(offset, view);
            const std::optional<uint64_t> next = next_intact(offset + unit_);
            if (!next) {
                fmt::print(out_, "  end      at {}; no intact section of this file follows\n",
                           offset);
                note_early_end();
                return result_;
            }
            fmt::print(out_, "  DAMAGE   from {} on, since the section at {} is intact\n", offset,
                       *next);
            result_.damaged = true;
            offset = *next;
        }
        show_end(offset);
        return result_;
    }

  private:
    // Whether sections can be looked for.
    bool show_header() {
        if (length_ == 0) {
            fmt::print(out_, "  empty    not even a file header: made, and never written to\n");
            return false;
        }
        if (length_ < sizeof header_) {
            fmt::print(out_, "  cut off  in the file header: {} of its {} bytes are there\n",
                       length_, sizeof header_);
            return false;
        }
        file_->read_at(0, {reinterpret_cast<uint8_t*>(&header_), sizeof header_});
        const uint64_t file_id = header_.file_id;  // out of its packed place
        const bool valid = header_.magic[0] == 'j' && header_.lf4[1] == '\n' && file_id != 0;
        fmt::print(out_, "  header   {}version {}, begun {}, file id {:016x}\n",
                   valid ? "" : "NOT VALID, ", version_text(header_.version),
                   text_field(header_.created, sizeof header_.created), file_id);
        fmt::print(out_, "           as {}\n", text_field(header_.path, sizeof header_.path));
        const auto format = journal::format_of(header_.version);
        result_.damaged = valid && !format;
        if (format) unit_ = format->unit;
        if (!valid) show_what_a_bad_header_hides();
        return valid && format;
    }

    void show_what_a_bad_header_hides() {
        if (only_zeros_from(journal::kFileHeaderBytes)) {
            fmt::print(out_, "  end      only zeros follow: a file that was being made\n");
            return;
        }
        fmt::print(out_,
                   "  DAMAGE   data follows, and without a header it is unknown which sections "
                   "belong here\n");
        result_.damaged = true;
    }

    void show_end(uint64_t offset) {
        if (result_.sections == 0)
            fmt::print(out_, "  end      clean, at {}: a header and no section\n", offset);
        else if (offset > length_)
            fmt::print(out_, "  end      at {}, within the padding of the last section\n", length_);
        else
            fmt::print(out_, "  end      clean, at {}\n", offset);
    }

    // Files before the last one were closed behind a complete section.
    void note_early_end() {
        if (options_.is_last) return;
        fmt::print(out_, "  DAMAGE   the file ends early, though it isn't the last journal file\n");
        result_.damaged = true;
    }

    bool only_zeros_from(uint64_t offset) {
        constexpr uint64_t kChunkBytes = uint64_t{1} << 20;
        for (; offset < length_; offset += kChunkBytes) {
            const std::vector<uint8_t> chunk = read(offset, kChunkBytes);
            if (std::ranges::any_of(chunk, [](uint8_t byte) { return byte != 0; })) return false;
        }
        return true;
    }

    std::vector<uint8_t> read(uint64_t offset, uint64_t bytes) {
        std::vector<uint8_t> result(bytes);
        result.resize(file_->read_at(offset, result));
        return result;
    }
    journal::SectionView look_at(uint64_t offset, std::vector<uint8_t>& storage) {
        const uint64_t rest = length_ - offset;
        storage = read(offset, std::min<uint64_t>(rest, sizeof(journal::SectionHeader)));
        const journal::SectionView first = journal::view_section(storage, header_.file_id);
        if (first.state != SectionState::cut_off || first.header.length > rest) return first;
        storage = read(offset, first.header.length);
        return journal::view_section(storage, header_.file_id);
    }
    std::optional<uint64_t> next_intact(uint64_t offset) {
        std::vector<uint8_t> bytes;
        for (; offset < length_; offset += unit_) {
            if (look_at(offset, bytes).state == SectionState::complete) return offset;
        }
        return std::nullopt;
    }

    void show_section(uint64_t offset, const journal::SectionView& view) {
        const uint64_t padded = journal::round_up(view.header.length, unit_);
        ++result_.sections;
        result_.disk_bytes += padded;
        result_.section_bytes += view.header.length;
        fmt::print(out_, "  section  {:>10}  seq {}  {} bytes, {} on disk", offset,
                   view.header.sequence, view.header.length, padded);
        try {
            const std::vector<uint8_t> ops = journal::decode_payload(view.payload);
            result_.raw_bytes += ops.size();
            fmt::print(out_, "  {} raw  checksum ok\n", ops.size());
            show_operations(ops);
        } catch (const base::Error& e) {
            fmt::print(out_, "\n  DAMAGE   {} (error {}), though the checksum is right\n",
                       base::escape_control_chars(e.what()), e.code());
            result_.damaged = true;
        }
    }

    void show_operations(std::span<const uint8_t> bytes) {
        journal::Op op;
        for (journal::OpReader ops(bytes); ops.next(op);) {
            switch (op.kind) {
                case journal::Op::Kind::basic_write:
                    ++result_.writes;
                    show_write(op);
                    break;
                case journal::Op::Kind::file_created:
                    ++result_.files_created;
                    if (options_.operations)
                        fmt::print(out_, "    created  {}  {} bytes\n",
                                   base::escape_control_chars(op.path), op.length);
                    break;
                case journal::Op::Kind::drop_db:
                    if (options_.operations)
                        fmt::print(out_, "    dropped  {}\n", base::escape_control_chars(op.path));
                    break;
            }
        }
    }
    void show_write(const journal::Op& op) {
        if (!options_.operations) return;
        const size_t shown = std::min(options_.hex_bytes, op.bytes.size());
        fmt::print(out_, "    write    {:<16} @{:<10} {:>7} bytes  {}{}\n",
                   base::escape_control_chars(journal::data_file_name(op.prefix, op.file_number)),
                   op.offset, op.bytes.size(), hex(op.bytes.first(shown)),
                   shown < op.bytes.size() ? ".." : "");
    }

    void show_break(uint64_t offset, const journal::SectionView& view) {
        switch (view.state) {
            case SectionState::foreign:
                show_foreign(offset, view.header.file_id);
                return;
            case SectionState::cut_off:
                fmt::print(out_,
                           "  cut off  {:>10}  seq {}  {} bytes, beyond the end of the file\n",
                           offset, view.header.sequence, view.header.length);
                return;
            default:
                fmt::print(out_, "  torn     {:>10}  seq {}  {} bytes  checksum {}, computed {}\n",
                           offset, view.header.sequence, view.header.length, hex(view.stored),
                           hex(view.expected));
        }
    }

    void show_foreign(uint64_t offset, uint64_t file_id) {
        if (length_ - offset < sizeof(journal::SectionHeader))
            fmt::print(out_, "  cut off  {:>10}  {} bytes, less than the header of a section\n",
                       offset, length_ - offset);
        else if (only_zeros_from(offset))
            fmt::print(out_, "  nothing  {:>10}  zeros up to the end of the file\n", offset);
        else
            fmt::print(out_,
                       "  nothing  {:>10}  no section with this file's id; the id there is "
                       "{:016x}\n",
                       offset, file_id);
    }

    const DumpOptions options_;
    std::ostream& out_;
    const std::unique_ptr<os::File> file_;
    const uint64_t length_;
    journal::FileHeader header_{};
    uint64_t unit_ = journal::kClassicFormat.unit;
    DumpResult result_;
};

}  // namespace

void DumpResult::add(const DumpResult& other) {
    sections += other.sections;
    disk_bytes += other.disk_bytes;
    section_bytes += other.section_bytes;
    raw_bytes += other.raw_bytes;
    writes += other.writes;
    files_created += other.files_created;
    damaged |= other.damaged;
}

std::vector<std::string> journal_files_at(os::FileSystem& files, const std::string& path) {
    if (!files.exists(path)) base::fail(base::kBadValue, "{} does not exist", path);
    if (!files.is_directory(path)) return {path};
    const std::string inside = os::join(path, "journal");
    const std::string directory = files.is_directory(inside) ? inside : path;
    std::vector<std::string> result;
    for (const journal::FoundFile& found : journal::find_journal_files(files, directory))
        result.push_back(found.path);
    if (result.empty())
        base::fail(base::kBadValue,
                   "{} holds no journal files: either nothing was committed since the start, or "
                   "the server was shut down cleanly",
                   directory);
    return result;
}

DumpResult dump_file(os::FileSystem& files, const std::string& path, const DumpOptions& options,
                     std::ostream& out) {
    return Dump(files, path, options, out).run();
}

void print_totals(const DumpResult& totals, std::ostream& out) {
    fmt::print(out, "{} sections, {} writes, {} files created\n", totals.sections, totals.writes,
               totals.files_created);
    fmt::print(out, "{} bytes of operations -> {} bytes of sections -> {} bytes on disk\n",
               totals.raw_bytes, totals.section_bytes, totals.disk_bytes);
    if (totals.sections > 0)
        fmt::print(out, "per section: {} raw, {} framed, {} on disk\n",
                   totals.raw_bytes / totals.sections, totals.section_bytes / totals.sections,
                   totals.disk_bytes / totals.sections);
    if (totals.damaged) fmt::print(out, "DAMAGED: see the lines above\n");
}

}  // namespace tools

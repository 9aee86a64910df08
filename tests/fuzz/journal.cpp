// Fuzz target: a journal of unknown origin, read and recovered on the simulated disk.
//
// The first byte of the input says what the rest is: the bytes of a journal file, or operations, of
// which sections with the right checksums are made: these reach the recovery. No path outside of
// the dbpath may be touched, and nothing in it but data files and the journal itself.
#include <snappy.h>

#include <cstring>
#include <string>

#include "base/error.h"
#include "journal/file_reader.h"
#include "journal/section.h"
#include "os/testing/sim_file_system.h"
#include "storage/mmapv1/btree/layout.h"
#include "storage/mmapv1/commit/testing/core.h"
#include "storage/mmapv1/mapping/data_file_name.h"
#include "target.h"

namespace {

constexpr uint64_t kFileId = 0x5566778899aabbcc;
constexpr uint64_t kDiskBytes = 64 << 20;
constexpr uint64_t kDataBytes = 64 << 10;
constexpr const char* kFileNames[] = {"j._0", "j._1", "lsn"};

enum Mode : uint8_t {
    kRaw = 1,  // the bytes of a file, instead of operations
    kDirectoryPerDb = 2,
    kDump = 4,          // recovery logs what it reads
    kSecondFile = 8,    // the same once more, as j._1
    kWrongIsLast = 16,  // damage at the end is not where power was cut
    // Bits 32 and 64: one of kFormats.
};
// As the base, journal-pad-bytes, journal-insert-entries and both write it; a server without them
// refuses it.
constexpr journal::FileFormat kFormats[] = {
    {0x4149, 8192}, {0x414a, 4096}, {0x414b, 8192}, {0x414c, 4096}};
constexpr int kFormatShift = 5;
constexpr uint32_t kBucketAt = 4096;

void append(std::vector<uint8_t>& to, const void* bytes, size_t size) {
    const auto* from = static_cast<const uint8_t*>(bytes);
    to.insert(to.end(), from, from + size);
}
template <typename T>
void append_value(std::vector<uint8_t>& to, T value) {
    append(to, &value, sizeof value);
}

std::string any_name(fuzz::Input& input) {
    static constexpr const char* kNames[] = {"test",       "test.0",
                                             "test.ns",    "test.1",
                                             "local",      "../x",
                                             "../x.0",     "a/../../x.ns",
                                             "/etc/x.0",   "test/test.0",
                                             "x/test.0",   "journal/j._5",
                                             "_tmp/a.0",   "mongod.lock",
                                             "test.16000", ".0",
                                             "..",         "",
                                             "test.00",    "other/other.ns",
                                             "journal",    "test.99999999999"};
    const uint8_t which = input.take();
    if (which < std::size(kNames)) return kNames[which];
    return std::string(input.take_text());
}

void append_varint(std::vector<uint8_t>& to, uint32_t value) {
    for (; value >= 0x80; value >>= 7)
        append_value(to, static_cast<uint8_t>(value | 0x80));
    append_value(to, static_cast<uint8_t>(value));
}

// Small, or any.
uint32_t any_number(fuzz::Input& input) {
    const uint8_t number = input.take();
    return number < 240 ? number : input.take<uint32_t>();
}

// A block of journal-insert-entries: writes, or entries behind a bucket that is known and empty.
void append_block(std::vector<uint8_t>& ops, fuzz::Input& input) {
    constexpr uint32_t kWrites = 0xfffffffa, kInserts = 0xfffffffb;
    const bool inserts = input.take() % 2 == 0;
    std::vector<uint8_t> block;
    if (inserts) {
        const mmapv1::BucketHeader empty{
            mmapv1::Loc7::null(), mmapv1::Loc7::null(), 0, mmapv1::kBodyBytes, 0, 0};
        append_value(ops, static_cast<uint32_t>(sizeof empty));
        append_value(ops, kBucketAt);
        append_value(ops, uint32_t{0});
        append(ops, &empty, sizeof empty);
        for (const uint32_t value : {0U, kBucketAt / 4, 0U, 0U})
            append_varint(block, value);
    }
    for (int n = input.take() % 8; n >= 0 && !input.empty(); --n) {
        append_varint(block, input.take() % 8 == 0 ? any_number(input) : 0);  // file
        append_varint(block, inserts && input.take() % 8 != 0 ? kBucketAt / 4 : any_number(input));
        if (inserts) append_varint(block, any_number(input));  // position
        const auto bytes = input.take_bytes(input.take());
        append_varint(
            block, input.take() % 8 == 0 ? any_number(input) : static_cast<uint32_t>(bytes.size()));
        if (inserts && !bytes.empty()) {
            append_varint(block, any_number(input));
            append_varint(block, any_number(input));
        }
        append(block, bytes.data(), bytes.size());
    }
    append_value(ops, inserts ? kInserts : kWrites);
    append_value(ops, static_cast<uint32_t>(block.size()) + (input.take() == 0 ? 1 : 0));
    append(ops, block.data(), block.size());
}

// One operation of a section, well-formed or nearly.
void append_operation(std::vector<uint8_t>& ops, fuzz::Input& input) {
    switch (input.take() % 8) {
        case 0:
        case 1: {
            const std::string name = any_name(input);
            append_value(ops, journal::kOpDbContext);
            append(ops, name.c_str(), name.size() + 1);
            return;
        }
        case 2:
        case 3: {
            static constexpr uint32_t kFiles[] = {0,     journal::kNsFile, 1, journal::kLocalBit,
                                                  15999, 0xffffffff};
            const auto bytes = input.take_bytes(input.take());
            const auto offset = input.take<uint16_t>();
            append_value(ops, static_cast<uint32_t>(bytes.size()));
            append_value(ops, uint32_t{offset} * (offset % 8 == 7 ? 65536U : 1U));
            append_value(ops, kFiles[input.take() % std::size(kFiles)]);
            append(ops, bytes.data(), bytes.size());
            return;
        }
        case 4: {
            const std::string name = any_name(input);
            append_value(ops, journal::kOpFileCreated);
            append_value(ops, uint64_t{0});
            append_value(ops, uint64_t{0});
            append_value(ops, input.take() % 4 == 0 ? input.take<uint64_t>()
                                                    : uint64_t{input.take()} * 4096);
            append(ops, name.c_str(), name.size() + 1);
            return;
        }
        case 5: {
            const std::string name = any_name(input);
            append_value(ops, journal::kOpDropDb);
            append_value(ops, uint64_t{0});
            append_value(ops, uint64_t{0});
            append(ops, name.c_str(), name.size() + 1);
            append(ops, "", 1);
            return;
        }
        case 6:
            append_block(ops, input);
            return;
        default: {
            const auto bytes = input.take_bytes(input.take() % 24);
            append(ops, bytes.data(), bytes.size());
        }
    }
}

journal::FileFormat format_of(uint8_t mode) {
    return kFormats[mode >> kFormatShift & 3];
}

void append_section(std::vector<uint8_t>& file, fuzz::Input& input, uint64_t sequence,
                    uint64_t unit) {
    std::vector<uint8_t> ops;
    for (int n = input.take() % 16; n >= 0 && !input.empty(); --n)
        append_operation(ops, input);
    std::string payload;
    snappy::Compress(reinterpret_cast<const char*>(ops.data()), ops.size(), &payload);
    // Now and then the compression itself is damaged; the checksum is right all the same.
    const uint8_t harm = input.take();
    if (harm >= 240 && !payload.empty()) payload[harm % payload.size()] ^= input.take();
    const size_t start = file.size();
    journal::SectionHeader header{static_cast<uint32_t>(payload.size() + journal::kSectionOverhead),
                                  sequence, kFileId};
    append(file, &header, sizeof header);
    append(file, payload.data(), payload.size());
    journal::SectionFooter footer{journal::kFooterSentinel, {}, 0, journal::kSectionMagic};
    const journal::Hash hash = journal::checksum({file.data() + start, file.size() - start});
    std::memcpy(footer.hash, hash.data(), hash.size());
    append(file, &footer, sizeof footer);
    file.resize(journal::round_up(file.size(), unit));
}

std::vector<uint8_t> journal_file(fuzz::Input& input, const journal::FileFormat& format) {
    std::vector<uint8_t> file(journal::kFileHeaderBytes);
    journal::FileHeader header{};
    header.magic[0] = 'j';
    header.magic[1] = header.lf1 = header.lf2 = '\n';
    header.lf3[0] = header.lf3[1] = header.lf4[0] = header.lf4[1] = '\n';
    header.version = format.version;
    header.file_id = kFileId;
    std::memcpy(file.data(), &header, sizeof header);
    for (uint64_t sequence = 1; sequence < 8 && !input.empty(); ++sequence)
        append_section(file, input, sequence, format.unit);
    return file;
}

void write(os::SimFileSystem& disk, const std::string& path, std::span<const uint8_t> bytes) {
    disk.open(path, {.access = os::Access::read_write, .create = true})->write_at(0, bytes);
}

// What a recovery may open, make, write or remove.
bool may_be_touched(const std::string& path) {
    constexpr std::string_view kHome = "/db/", kJournal = "/db/journal/";
    if (path == "/db" || path == "/db/journal" || path == "/db/_tmp") return true;
    if (path.starts_with(kJournal)) {
        const std::string name = path.substr(kJournal.size());
        return name.find('/') == std::string::npos && name != "..";
    }
    if (!path.starts_with(kHome)) return false;
    const std::string name = path.substr(kHome.size());
    const bool scratch = name.starts_with("_tmp/");
    const std::string data = scratch ? name.substr(5) : name;
    return mmapv1::parse_data_file_name(data) ||
           mmapv1::valid_database_name(data, true) ||  // its folder
           (name.ends_with("/_tmp") &&
            mmapv1::valid_database_name(name.substr(0, name.size() - 5), true)) ||
           (data.find("/_tmp/") != std::string::npos && data.find("..") == std::string::npos);
}

void watch(os::SimFileSystem& disk) {
    disk.set_observer([](const os::SimFileSystem::Event& event) {
        using enum os::SimFileSystem::Call;
        if (!may_be_touched(event.path)) fuzz::broken("recovery touches " + event.path);
        // A disk of this size. File systems say so when space is asked for, before it is taken.
        const bool sized = event.call == allocate || event.call == truncate ||
                           event.call == write_at || event.call == write;
        if (sized && event.offset + event.bytes > kDiskBytes)
            throw os::IoError("allocation of " + event.path + " failed",
                              std::make_error_code(std::errc::no_space_on_device));
    });
}

void read_all(os::SimFileSystem& disk, bool is_last) {
    fuzz::as_operation([&] {
        journal::FileReader reader(disk, "/db/journal/j._0", is_last);
        journal::FileReader::Section section;
        uint64_t end = journal::kFileHeaderBytes;
        while (reader.next(section)) {
            fuzz::expect(section.offset >= end, "sections lie behind each other");
            end = section.offset + section.header.length;
            const std::vector<uint8_t> ops(section.ops);
            journal::OpReader reading(ops);
            journal::Op op;
            while (reading.next(op)) {
                const uint8_t* const from = op.bytes.data();
                fuzz::expect(
                    op.bytes.empty() ||
                        (from >= ops.data() && from + op.bytes.size() <= ops.data() + ops.size()),
                    "operations lie inside their section");
            }
        }
    });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size < 2) return fuzz::kNoInput;
    fuzz::Input input(data, size);
    const uint8_t mode = input.take();
    const std::vector<uint8_t> file = (mode & kRaw) != 0
                                          ? std::vector<uint8_t>(data + 1, data + size)
                                          : journal_file(input, format_of(mode));
    os::SimFileSystem disk;
    for (const char* directory : {"/db", "/db/journal", "/db/test"})
        disk.create_directory(directory);
    const std::vector<uint8_t> zeros(kDataBytes);
    for (const char* name : {"/db/test.ns", "/db/test.0", "/db/test/test.0"})
        write(disk, name, zeros);
    write(disk, std::string("/db/journal/") + kFileNames[0], file);
    if ((mode & kSecondFile) != 0) write(disk, std::string("/db/journal/") + kFileNames[1], file);
    disk.set_free_bytes(kDiskBytes);
    watch(disk);
    read_all(disk, (mode & kWrongIsLast) == 0);
    fuzz::as_operation([&] {
        os::SimClock clock;
        mmapv1::Core core(disk, clock);
        mmapv1::Recovery recovery(
            disk, core.files, core.journal, core.counters,
            {.dump = (mode & kDump) != 0, .directory_per_db = (mode & kDirectoryPerDb) != 0});
        recovery.run();
        fuzz::expect(!disk.exists("/db/journal/j._0"), "a recovered journal is removed");
    });
    return fuzz::kTaken;
}

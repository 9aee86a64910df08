#include "journal/op_stream.h"

#include "base/dcheck.h"
#include "base/error.h"

namespace journal {

namespace {

constexpr size_t kInitialBytes = size_t{4} << 20;

[[noreturn]] void malformed(const char* what) {
    base::fail(13546, "journal: malformed section: {}", what);
}

}  // namespace

OpBuffer::OpBuffer() : buffer_(kInitialBytes) {
    clear();
}

void OpBuffer::clear() {
    buffer_.end_use();
    buffer_.resize(kHeadroom);
    context_.clear();
    DCHECK(empty());
}

void OpBuffer::file_created(std::string_view relative_path, uint64_t length) {
    DCHECK(!relative_path.empty() && relative_path.find('\0') == std::string_view::npos);
    DCHECK(context_.empty());  // before all basic writes
    buffer_.append_value(kOpFileCreated);
    buffer_.append_value(uint64_t{0});
    buffer_.append_value(uint64_t{0});
    buffer_.append_value(length);
    buffer_.append(relative_path.data(), relative_path.size());
    buffer_.append_value(uint8_t{0});
}

void OpBuffer::basic_write(std::string_view prefix, uint32_t file_number, uint32_t offset,
                           const void* bytes, uint32_t length) {
    // What OpReader would refuse.
    DCHECK(length != 0 && length < kOpLowest);
    DCHECK(offset <= kWriteOffsetMax && (file_number & kLocalBit) == 0);
    DCHECK(!prefix.empty() && prefix.size() < kPrefixBytesMax);
    DCHECK(prefix.find('\0') == std::string_view::npos);
    if (prefix == "local") {
        file_number |= kLocalBit;
    } else if (prefix != context_) {
        context_ = prefix;
        buffer_.append_value(kOpDbContext);
        buffer_.append(context_.c_str(), context_.size() + 1);
    }
    const BasicWriteHeader header{length, offset, file_number};
    uint8_t* p = buffer_.extend(sizeof header + length);
    std::memcpy(p, &header, sizeof header);
    std::memcpy(p + sizeof header, bytes, length);
}

template <typename T>
T OpReader::take() {
    if (rest_.size() < sizeof(T)) malformed("it ends inside an operation");
    T value;
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_ = rest_.subspan(sizeof value);
    return value;
}

std::string_view OpReader::take_text(size_t limit) {
    const size_t most = std::min(limit, rest_.size());
    const void* end = most == 0 ? nullptr : std::memchr(rest_.data(), 0, most);
    if (end == nullptr) malformed("a name has no end");
    const auto size = static_cast<size_t>(static_cast<const uint8_t*>(end) - rest_.data());
    const std::string_view text(reinterpret_cast<const char*>(rest_.data()), size);
    rest_ = rest_.subspan(size + 1);
    return text;
}

bool OpReader::next(Op& op) {
    if (rest_.empty()) return false;
    auto code = take<uint32_t>();
    if (code == kOpDbContext) {
        context_ = take_text(kPrefixBytesMax);
        context_given_ = true;
        code = take<uint32_t>();
        if (code >= kOpLowest) malformed("a context is not followed by a write");
    }
    op = Op{};
    switch (code) {
        case kOpFileCreated:
            op.kind = Op::Kind::file_created;
            take<uint64_t>();
            take<uint64_t>();
            op.length = take<uint64_t>();
            op.path = take_text(rest_.size());
            return true;
        case kOpDropDb:
            op.kind = Op::Kind::drop_db;
            take<uint64_t>();
            take<uint64_t>();
            op.path = take_text(rest_.size());
            take_text(rest_.size());
            return true;
        default:
            break;
    }
    if (code == 0 || code >= kOpLowest) malformed("unknown operation");
    op.offset = take<uint32_t>();
    const auto number = take<uint32_t>();
    op.file_number = number & ~kLocalBit;
    const bool local = (number & kLocalBit) != 0;
    if (!local && !context_given_) malformed("a write comes before any context");
    if (op.offset > kWriteOffsetMax) malformed("an offset is out of range");
    if (code > rest_.size()) malformed("a write is longer than the section");
    op.prefix = local ? std::string_view("local") : context_;
    op.bytes = rest_.first(code);
    rest_ = rest_.subspan(code);
    return true;
}

std::string data_file_name(std::string_view prefix, uint32_t file_number) {
    if (file_number == kNsFile) return fmt::format("{}.ns", prefix);
    return fmt::format("{}.{}", prefix, file_number);
}

}  // namespace journal

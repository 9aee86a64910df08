// Fuzz target: bytes where a bucket has a key.
#include "bson/compare.h"
#include "storage/mmapv1/btree/key_v1.h"
#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::vector<uint8_t> all(data, data + size);
    const uint32_t bytes = mmapv1::checked_key_size(all.data(), all.size());
    if (bytes == 0) return fuzz::kNoInput;
    fuzz::expect(bytes <= size, "a key ends where its bytes do");
    const std::vector<uint8_t> key(data, data + bytes);
    const mmapv1::KeyView view(key.data());
    fuzz::expect(view.size() == bytes, "a checked key has its size");
    uint8_t buffer[mmapv1::kDecodedKeyBytesMax];
    const bson::Doc decoded = view.decode(buffer);
    fuzz::expect(bson::compare_keys(decoded, decoded, 0) == 0, "a decoded key equals itself");
    fuzz::expect(mmapv1::compare(view, view, 0x5555) == 0, "a key equals itself");
    const mmapv1::SearchKey search(decoded);
    mmapv1::compare(search, view, 0);
    mmapv1::compare_prefix(search, view, 0x3333);
    // The rest of the bytes, if they are one more key.
    const uint32_t more = mmapv1::checked_key_size(all.data() + bytes, all.size() - bytes);
    if (more == 0) return fuzz::kTaken;
    const std::vector<uint8_t> other(data + bytes, data + bytes + more);
    const mmapv1::KeyView second(other.data());
    mmapv1::compare(view, second, 0);
    mmapv1::compare(second, view, 0x5555);
    mmapv1::compare(search, second, 0);
    return fuzz::kTaken;
}

#pragma once

namespace mongo {

class AtomicUInt64 {
public:
    AtomicUInt64() : _value(0) {}
    unsigned long long load() const { return _value; }
    unsigned long long addAndFetch(unsigned long long n) {
        return __sync_add_and_fetch(&_value, n);
    }

private:
    unsigned long long _value;
};

}  // namespace mongo

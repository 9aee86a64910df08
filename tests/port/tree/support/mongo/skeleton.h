// skeleton.h - what the small trees need of the old server to compile and run: BSON that prints,
// locks, clocks, options. All of it is ours and does only what the tests look at. C++98 and later.
#pragma once

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

using std::string;

namespace boost {

struct xtime {
    long sec;
    long nsec;
};

struct native_lock {
    pthread_mutex_t* mutex;
};

class condition {
public:
    condition() { pthread_cond_init(&_cond, 0); }
    void wait(native_lock& lock) { pthread_cond_wait(&_cond, lock.mutex); }
    bool timed_wait(native_lock& lock, const xtime& deadline) {
        timespec until;
        until.tv_sec = deadline.sec;
        until.tv_nsec = deadline.nsec;
        return pthread_cond_timedwait(&_cond, lock.mutex, &until) == 0;
    }
    void notify_all() { pthread_cond_broadcast(&_cond); }

private:
    pthread_cond_t _cond;
};

namespace filesystem {
class path {
public:
    path() {}
    path(const std::string& text) : _text(text) {}
    std::string string() const { return _text; }
    bool empty() const { return _text.empty(); }

private:
    std::string _text;
};
inline bool exists(const path& p) { return ::access(p.string().c_str(), F_OK) == 0; }
}  // namespace filesystem

}  // namespace boost

#define verify(expression)                                                 \
    do {                                                                   \
        if (!(expression)) {                                               \
            std::cerr << "assertion " << #expression << " failed\n";       \
            abort();                                                       \
        }                                                                  \
    } while (0)
#define dassert(expression) verify(expression)
#define DEV if (true)

namespace mongo {

class mutex {
public:
    explicit mutex(const char*) { pthread_mutex_init(&_native, 0); }
    class scoped_lock {
    public:
        scoped_lock(mutex& m) {
            _lock.mutex = &m._native;
            pthread_mutex_lock(_lock.mutex);
        }
        ~scoped_lock() { pthread_mutex_unlock(_lock.mutex); }
        boost::native_lock& boost() { return _lock; }

    private:
        boost::native_lock _lock;
    };
    class try_lock {
    public:
        try_lock(mutex& m) : _m(m), ok(pthread_mutex_trylock(&m._native) == 0) {}
        ~try_lock() {
            if (ok)
                pthread_mutex_unlock(&_m._native);
        }

    private:
        mutex& _m;

    public:
        const bool ok;
    };

private:
    pthread_mutex_t _native;
};
typedef mutex::scoped_lock scoped_lock;

class SimpleMutex {
public:
    explicit SimpleMutex(const char*) { pthread_mutex_init(&_native, 0); }
    void lock() { pthread_mutex_lock(&_native); }
    void unlock() { pthread_mutex_unlock(&_native); }
    void dassertLocked() const {}
    class scoped_lock {
    public:
        explicit scoped_lock(SimpleMutex& m) : _m(m) { _m.lock(); }
        ~scoped_lock() { _m.unlock(); }

    private:
        SimpleMutex& _m;
    };

private:
    pthread_mutex_t _native;
};

namespace Lock {
inline bool isLocked() { return false; }
inline bool isW() { return false; }
}

inline unsigned long long curTimeMicros64() {
    timeval now;
    gettimeofday(&now, 0);
    return now.tv_sec * 1000000ULL + now.tv_usec;
}
inline void sleepmillis(long long ms) { usleep(ms * 1000); }
inline boost::xtime incxtimemillis(long long ms) {
    const unsigned long long until = curTimeMicros64() + ms * 1000;
    boost::xtime result;
    result.sec = until / 1000000;
    result.nsec = until % 1000000 * 1000;
    return result;
}

class Timer {
public:
    Timer() : _start(curTimeMicros64()) {}
    long long micros() const { return curTimeMicros64() - _start; }

private:
    unsigned long long _start;
};

// BSON as text: {commits: 3, total: {...}}
class BSONObj {
public:
    BSONObj() {}
    explicit BSONObj(const std::string& inside) : _inside(inside) {}
    std::string inside() const { return _inside; }
    std::string toString() const { return "{" + _inside + "}"; }

private:
    std::string _inside;
};

class BSONObjBuilder {
public:
    BSONObjBuilder& append(const std::string& name, int value) { return add(name, value); }
    BSONObjBuilder& append(const std::string& name, unsigned value) { return add(name, value); }
    BSONObjBuilder& append(const std::string& name, long long value) { return add(name, value); }
    BSONObjBuilder& append(const std::string& name, double value) { return add(name, value); }
    BSONObjBuilder& append(const std::string& name, const BSONObj& value) {
        return add(name, value.toString());
    }
    BSONObjBuilder& appendElements(const BSONObj& all) {
        if (!all.inside().empty())
            _inside += (_inside.empty() ? "" : ", ") + all.inside();
        return *this;
    }
    BSONObj obj() const { return BSONObj(_inside); }

private:
    template <typename T>
    BSONObjBuilder& add(const std::string& name, const T& value) {
        std::ostringstream text;
        text << (_inside.empty() ? "" : ", ") << name << ": " << value;
        _inside += text.str();
        return *this;
    }
    std::string _inside;
};

struct ErrorCodes {
    enum Error { OK, BadValue };
};
class Status {
public:
    Status(ErrorCodes::Error code, const std::string& reason) : _code(code), _reason(reason) {}
    static Status OK() { return Status(ErrorCodes::OK, ""); }
    bool isOK() const { return _code == ErrorCodes::OK; }
    std::string reason() const { return _reason; }

private:
    ErrorCodes::Error _code;
    std::string _reason;
};

// A value of the command line, and a table of them.
class OptionValue {
public:
    OptionValue() {}
    explicit OptionValue(const std::string& text) : _text(text) {}
    template <typename T>
    T as() const {
        std::istringstream in(_text);
        T value;
        in >> std::boolalpha >> value;
        verify(!in.fail());
        return value;
    }

private:
    std::string _text;
};
class OptionTable {
public:
    void set(const std::string& name, const std::string& value) {
        _values[name] = OptionValue(value);
    }
    int count(const std::string& name) const { return _values.count(name); }
    OptionValue operator[](const std::string& name) const { return _values.find(name)->second; }

private:
    std::map<std::string, OptionValue> _values;
};

inline std::ostream& out() { return std::cout; }
inline std::ostream& log() { return std::cout; }

}  // namespace mongo

#if __cplusplus >= 201103L
#include <condition_variable>
#include <mutex>
namespace mongo {
namespace stdx = std;
}
#endif

// Used without a semicolon, as some macros are.
#define SKELETON_MACRO(x)

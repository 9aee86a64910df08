// query/value/time_zone.h - time zones by their names, with the zone data of ICU.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

namespace query {

class TimeZone {
  public:
    virtual ~TimeZone() = default;

    // "Europe/Berlin", "UTC", "+05:30", "-0300", "+02". The zones are kept for each thread, a few
    // of them. Throws base::Error 40485 for a name that is none.
    static std::shared_ptr<const TimeZone> of(std::string_view name);
    static const TimeZone& utc();

    // How much its clocks are ahead of UTC at an instant, in milliseconds.
    virtual int64_t offset_at(int64_t utc_ms) const = 0;
    // The instant at which its clocks show a time, which is given as if it were UTC: of two the
    // earlier one. A time that a change of the clocks leaves out counts on from before it.
    virtual int64_t instant_of(int64_t local_ms) const = 0;
    virtual bool is_utc() const { return false; }

    // Returns the time that its clocks show, as if it were UTC; at the ends of int64 the time of
    // UTC.
    int64_t local(int64_t utc_ms) const {
        int64_t ms = 0;
        return __builtin_add_overflow(utc_ms, offset_at(utc_ms), &ms) ? utc_ms : ms;
    }
};

// Whether a text is an offset as of() takes it; then what it is, in milliseconds.
bool parse_offset(std::string_view text, int64_t* ms);

}  // namespace query

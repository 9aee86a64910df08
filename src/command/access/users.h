// command/access/users.h - the users of this server and their roles: reading their documents, and
// telling open connections that something about them has changed.
//
// They lie in admin.system.users and admin.system.roles (auth/user.h, auth/own_role.h). Only
// commands/users.cpp, commands/roles.cpp and the first user of a start write there; each change,
// once it is made, is announced here. The class is thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "auth/user.h"
#include "catalog/catalog.h"

namespace command {

class UserStore {
  public:
    // Names whose drops are remembered one by one.
    static constexpr size_t kDropsMax = 10'000;

    explicit UserStore(catalog::Catalog& catalog);

    // Lets members of the set log in by this key from now on (auth::member_user()). It is called
    // before the first request, and is slow.
    void accept_members(const std::string& key);

    // Lock on admin, shared, for the moment, as with the next four.
    std::optional<auth::User> find(const auth::UserName& who);
    // Returns what these roles give now.
    auth::Granted granted(const std::vector<auth::Role>& roles);
    // Throws base::Error 31, 81 for a role that is not there, or damaged.
    void check_roles(const std::vector<auth::Role>& roles);
    // Visits the documents of roles of one's own, in no order.
    void each_role(const std::function<void(bson::Doc)>& visit);
    // Visits the documents of all users, in no order.
    void each(const std::function<void(bson::Doc)>& visit);
    // Looks roles of one's own up, while the caller holds that lock at least.
    auth::FindRole role_finder() const;
    // Whether there is any user. Once there was one this stays true as long as the process lives,
    // even when all are dropped: what was open before the first user must not open again.
    bool any();

    // Grows with every change. Read before a document, it shows when that has to be read again.
    uint64_t generation() const { return generation_.load(std::memory_order_acquire); }
    void changed();
    // The same, after a user was made.
    void added();
    // The same, and clients that logged in as this user have to do so again, even if a user of that
    // name is created again. The other two do that for all users of a database, and for all there
    // are.
    void dropped(const auth::UserName& who);
    void dropped_all(std::string_view db);
    void dropped_all();
    // An entry of the primary's log that has been applied: announces what it has changed here. An
    // empty one: all data has been copied.
    void applied(bson::Doc entry);
    // Returns which of the users who had that name, one after the other, logged in at that
    // generation; nothing if it has been dropped since, or if so many others have been that all of
    // them are taken for dropped.
    std::optional<uint64_t> incarnation(const auth::UserName& who, uint64_t since) const;

    // The secret that dummy credentials are derived from; new with each process.
    std::string_view secret() const { return secret_; }

    // Hashing passwords keeps a processor busy: so many at once, the others are retried later.
    class Hashing {
      public:
        explicit Hashing(UserStore& users);
        ~Hashing();
        Hashing(const Hashing&) = delete;
        Hashing& operator=(const Hashing&) = delete;
        bool may_begin() const { return may_begin_; }

      private:
        UserStore& users_;
        const bool may_begin_;
    };

  private:
    static constexpr int kHashingMax = 2;
    void note_drop(const std::string& what);
    void each_in(std::string_view ns, const std::function<void(bson::Doc)>& visit);

    catalog::Catalog& catalog_;
    const std::string secret_;
    std::optional<auth::User> member_;  // set before the first request
    std::atomic<bool> any_{false};
    std::atomic<uint64_t> generation_{1};
    std::atomic<int> hashing_{0};
    mutable std::mutex mutex_;
    // The generation of the last drop: of "db.user", of "db." for all of a database, of "" for all.
    std::unordered_map<std::string, uint64_t> drops_;  // guarded by mutex_
};

}  // namespace command

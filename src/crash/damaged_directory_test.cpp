// Data files with a few wrong words in them, under a whole server: every operation ends, with an
// answer or an error, and never with the process.
//
// Each case runs in a process of its own, which says by how it ends whether it lived; a failure
// names the seed. Usually a slice of them is tried (base/testing/slice.h); TEST_EFFORT makes more
// of them.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include "base/error.h"
#include "base/testing/effort.h"
#include "base/testing/fatal_handler.h"
#include "base/testing/muted.h"
#include "base/testing/slice.h"
#include "crash/testing/small_server.h"

namespace crash {
namespace {

constexpr int kCases = 240;
constexpr size_t kCasesPerProcess = 20;
constexpr unsigned kSecondsMax = 60;  // for one case, and only where it hangs
constexpr int kThrew = 3;             // exit code of a case that let an exception out

std::unique_ptr<EngineServer> start(const std::string& dbpath) {
    mmapv1::EngineOptions options = mmapv1::small_engine_options(dbpath);
    options.durable.commit_interval = 2'000;
    return std::make_unique<EngineServer>(mmapv1::open_engine(options));
}

std::string documents(int from, int to) {
    std::string list;
    for (int i = from; i < to; ++i)
        list += fmt::format(R"({}{{"_id": {}, "a": [{}, {}], "s": "{}", "n": {}}})",
                            list.empty() ? "" : ", ", i, i % 7, i % 11,
                            std::string(static_cast<size_t>(20 + i % 180), 'x'), i);
    return list;
}

// A database with what there is: free records, a tree of two levels, a ring that has come round,
// more indexes than fit the first block, free extents.
void fill(const std::string& dbpath) {
    const auto server = start(dbpath);
    const auto run = [&](const std::string& command) {
        const bson::Object reply = server->run(command, "d");
        if (command::TestConnection::code(reply) != 0)
            throw std::runtime_error(command + command::TestConnection::text(reply, "errmsg"));
    };
    run(R"({"insert": "gone", "documents": [)" + documents(0, 300) + "]}");
    run(R"({"insert": "c", "documents": [)" + documents(0, 600) + "]}");
    run(R"({"createIndexes": "c", "indexes": [{"key": {"s": 1}, "name": "s"},
                                              {"key": {"a": 1}, "name": "a"}]})");
    for (int i = 0; i < 10; ++i)
        run(fmt::format(R"({{"createIndexes": "many", "indexes": [{{"key": {{"f{0}": 1}},
                            "name": "f{0}"}}]}})",
                        i));
    run(R"({"insert": "many", "documents": [{"_id": 1, "f1": 2}]})");
    run(R"({"create": "ring", "capped": true, "size": 16384, "$nExtents": [8192, 8192]})");
    for (int i = 0; i < 10; ++i)
        run(R"({"insert": "ring", "documents": [)" + documents(i * 20, i * 20 + 20) + "]}");
    run(R"({"delete": "c", "deletes": [{"q": {"n": {"$mod": [3, 0]}}, "limit": 0}]})");
    run(R"({"drop": "gone"})");
    server->stop();
}

// Does what a client can do to it; each command ends somehow.
void use(command::TestConnection& server) {
    const std::string more = documents(1000, 1060);
    for (const std::string& command : {
             std::string(R"({"listCollections": 1})"),
             std::string(R"({"find": "c", "filter": {"n": {"$gt": 100}}, "batchSize": 1000})"),
             std::string(R"({"find": "c", "sort": {"s": -1}, "batchSize": 1000})"),
             std::string(R"({"find": "ring", "sort": {"$natural": -1}, "batchSize": 1000})"),
             R"({"insert": "c", "ordered": false, "documents": [)" + more + "]}",
             R"({"insert": "ring", "ordered": false, "documents": [)" + more + "]}",
             R"({"insert": "many", "ordered": false, "documents": [)" + more + "]}",
             R"({"insert": "fresh", "ordered": false, "documents": [)" + more + "]}",
             std::string(R"({"update": "c", "updates": [{"q": {}, "multi": true,
                             "u": {"$set": {"s": "moved to a place with more room than before, )") +
                 std::string(300, 'y') + R"("}}}]})",
             std::string(R"({"update": "c", "updates": [{"q": {"_id": 7}, "u": {"$inc": {"n": 1}}},
                             {"q": {"_id": 8}, "u": {"$push": {"a": 99}}}]})"),
             std::string(R"({"findAndModify": "c", "query": {"a": 3}, "remove": true})"),
             std::string(R"({"delete": "c", "deletes": [{"q": {"a": 5}, "limit": 0}]})"),
             std::string(
                 R"({"delete": "c", "deletes": [{"q": {"_id": {"$lt": 200}}, "limit": 0}]})"),
             std::string(R"({"captrunc": "ring", "n": 5})"),
             std::string(R"({"createIndexes": "c", "indexes": [{"key": {"n": 1}, "name": "n"}]})"),
             std::string(R"({"validate": "c", "full": true})"),
             std::string(R"({"validate": "ring", "full": true})"),
             std::string(R"({"collStats": "c", "verbose": true})"),
             std::string(R"({"dbStats": 1})"),
             std::string(R"({"touch": "c", "data": true, "index": true})"),
             std::string(R"({"compact": "c"})"),
             std::string(R"({"emptycapped": "ring"})"),
             R"({"insert": "ring", "ordered": false, "documents": [)" + more + "]}",
             std::string(R"({"dropIndexes": "c", "index": "a"})"),
             std::string(R"({"dropIndexes": "many", "index": "*"})"),
             std::string(R"({"convertToCapped": "c", "size": 100000})"),
             std::string(R"({"drop": "many"})"),
             std::string(R"({"drop": "ring"})"),
         })
        server.run(command, "d");
    server.run(R"({"renameCollection": "d.c", "to": "d.renamed"})", "admin");
    server.run(R"({"drop": "renamed"})", "d");
    server.run(R"({"insert": "last", "documents": [)" + more + "]}", "d");
    server.run(R"({"repairDatabase": 1})", "d");
    server.run(R"({"dropDatabase": 1})", "d");
}

std::vector<uint8_t> bytes_of(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

class DamagedDirectory : public testing::Test {
  protected:
    DamagedDirectory() {
        std::filesystem::create_directory(home_ / "whole");
        // In another process, so that this one has no threads when it forks.
        EXPECT_EQ(in_process([this] { fill(home_ / "whole"); }), 0);
        for (const char* name : {"d.ns", "d.0"}) {
            files_.push_back(bytes_of((home_ / "whole/") + name));
            for (size_t at = 0; at + 4 <= files_.back().size(); at += 4)
                if (bson::load<uint32_t>(files_.back().data() + at) != 0)
                    words_.emplace_back(files_.size() - 1, at);
        }
    }

    [[noreturn]] static void show_fatal(int id, std::string_view text) {
        std::fprintf(stderr, "fatal %d: %.*s\n", id, static_cast<int>(text.size()), text.data());
        ::_exit(base::kExitAbrupt);
    }

    // Runs it in a child; how that ended, as waitpid says.
    template <typename Work>
    static int in_process(Work work) {
        const pid_t child = ::fork();
        if (child == 0) {
            base::set_fatal_handler(show_fatal);
            try {
                work();
            } catch (const std::exception& error) {
                std::fprintf(stderr, "thrown: %s\n", error.what());
                ::_exit(kThrew);
            }
            ::_exit(0);
        }
        int status = 0;
        ::waitpid(child, &status, 0);
        return status;
    }

    // One to four words of the structures get values that lie, or point somewhere.
    void damage(const std::string& dbpath, unsigned seed) {
        std::mt19937 generator(seed);
        const auto random = [&] { return static_cast<uint32_t>(generator()); };
        std::filesystem::remove_all(dbpath);
        std::filesystem::copy(home_ / "whole", dbpath, std::filesystem::copy_options::recursive);
        std::vector<std::vector<uint8_t>> files = files_;
        const auto end_of_data = static_cast<uint32_t>(words_.back().second);
        for (unsigned i = 0; i <= random() % 4; ++i) {
            const auto [file, near] = words_[random() % words_.size()];
            const size_t at = near + 4 * (random() % 4 == 0 ? random() % 8 : 0);
            if (at + 4 > files[file].size()) continue;
            const uint32_t was = bson::load<uint32_t>(files[file].data() + at);
            const uint32_t values[] = {
                0u,
                1u,
                4u,
                16u,
                0xffffffffu,
                0xfffffffeu,
                0x7fffffffu,
                0x80000000u,
                0x41424344u,
                was + 4,
                was - 4,
                was ^ 1u << random() % 32,
                static_cast<uint32_t>(files_[1].size()) - 16 - 4 * (random() % 6),
                8192u + random() % end_of_data / 4 * 4,
                static_cast<uint32_t>(words_[random() % words_.size()].second),
                random()};
            const uint32_t value = values[random() % std::size(values)];
            std::memcpy(files[file].data() + at, &value, sizeof value);
        }
        for (size_t file = 0; file < files.size(); ++file) {
            // In place: the holes stay holes.
            std::fstream out(dbpath + (file == 0 ? "/d.ns" : "/d.0"),
                             std::ios::binary | std::ios::in | std::ios::out);
            for (size_t at = 0; at < files[file].size(); at += 4096) {
                const size_t n = std::min<size_t>(4096, files[file].size() - at);
                if (std::memcmp(files[file].data() + at, files_[file].data() + at, n) == 0)
                    continue;
                out.seekp(static_cast<std::streamoff>(at));
                out.write(reinterpret_cast<const char*>(files[file].data() + at),
                          static_cast<std::streamsize>(n));
            }
        }
    }

    const base::MutedLog muted_;
    os::TestDirectory home_;
    std::vector<std::vector<uint8_t>> files_;       // .ns, .0
    std::vector<std::pair<size_t, size_t>> words_;  // file and offset of what is not zero
};

TEST_F(DamagedDirectory, NoWordInItEndsTheProcess) {
    ASSERT_GT(words_.size(), 10000u);
    auto* const current = static_cast<size_t*>(
        ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(current, MAP_FAILED);
    base::Slice slice = base::test_slice(6);
    std::vector<unsigned> seeds;
    for (int seed = 1; seed <= base::test_effort(kCases); ++seed)
        if (slice.takes_next()) seeds.push_back(static_cast<unsigned>(seed));
    int failures = 0;
    for (size_t first = 0; first < seeds.size() && failures < 20;) {
        const int status = in_process([&] {
            const size_t end = std::min(seeds.size(), first + kCasesPerProcess);
            for (size_t i = first; i < end; ++i) {
                *current = i;
                damage(home_ / "damaged", seeds[i]);
                ::alarm(kSecondsMax);
                try {
                    const auto server = start(home_ / "damaged");
                    use(*server);
                    server->stop();
                } catch (const base::Error&) {
                    // The directory is refused as a whole.
                }
                ::alarm(0);
            }
        });
        first = *current + 1;
        if (status == 0) continue;
        ++failures;
        ADD_FAILURE() << "seed " << seeds[*current] << " ended with "
                      << (WIFSIGNALED(status)
                              ? fmt::format("signal {}", ::strsignal(WTERMSIG(status)))
                              : fmt::format("exit code {}", WEXITSTATUS(status)));
    }
    ::munmap(current, 4096);
}

}  // namespace
}  // namespace crash

// server/testing/differential.h - random documents, indexes and operations, run in every way that
// should make no difference: over both engines, with each index alone, with all of them, hinted,
// and in natural order. It needs no other server to be right: where two ways disagree, one is
// wrong.
//
// A case is a tree of JSON, so that it can be shrunk without knowing what it means.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace server::differential {

// A JSON value: text as it is, or named (object) or unnamed (array) members.
struct Node {
    enum class Kind { text, object, array };
    Kind kind = Kind::text;
    std::string text;
    std::vector<std::pair<std::string, Node>> members;

    std::string json() const;
    Node& add(std::string name, Node value);  // an object's member
    Node& push(Node value);                   // an array's
    const Node* find(const std::string& name) const;
};
Node text(std::string json);
Node object();
Node array();

// Documents and index definitions ({key, and options}), and one operation on them:
//   {find: {filter, projection, sort, skip, limit}}     {count: {query}}   {distinct: {key, query}}
//   {aggregate: [stages]}     {update: {q, u, multi, upsert}}     {delete: {q}}
//   {cursor: {filter, change}}: some documents are read, then the change (an update or a delete) is
//   made, then the rest is read
struct Case {
    Node documents = array();
    Node indexes = array();
    Node operation = object();

    std::string show() const;
};

class Generator {
  public:
    explicit Generator(uint64_t seed) : random_(seed) {}
    void make_data(Case& out);  // documents and indexes
    Node read();
    Node write();

  private:
    int below(int n) { return static_cast<int>(random_() % static_cast<uint64_t>(n)); }
    bool chance(int percent) { return below(100) < percent; }
    template <typename List>
    std::string pick(const List& list) {
        return list[static_cast<size_t>(below(static_cast<int>(std::size(list))))];
    }
    // What the data of a seed lean to, so that rare things meet.
    enum class Theme { any, nested_arrays, large_numbers };
    Node scalar();
    Node value(int depth);
    Node document(int id);
    Node index();
    std::string path();
    Node filter(int depth);
    Node predicate(int depth, bool in_element);
    Node elem_match(int depth);
    Node values(int most);
    Node modifiers();
    Node stages();
    Node with_sort(Node find);

    Theme theme_ = Theme::any;
    std::mt19937_64 random_;
};

// Both engines, with the collections that a case needs.
class Ways {
  public:
    Ways();
    ~Ways();
    // Takes documents and indexes over; leaves out of `data` the indexes that can't be built.
    void load(Case& data);
    // Runs the operation in all ways. Empty: all agree; else what does not. After an operation that
    // writes the data must be loaded again.
    std::string check(const Case& one);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

// The smallest case found that still fails.
Case shrink(Ways& ways, Case failing);

}  // namespace server::differential

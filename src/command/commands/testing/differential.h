// command/commands/testing/differential.h - random documents, indexes and operations, run in every
// way that should make no difference: with each index alone, with all of them, hinted, through
// views, and in natural order, which is right. It needs no other server: where two ways disagree,
// one is wrong.
//
// A first form of it left four silent faults to others to find: it never put an $elemMatch directly
// into another, knew no MinKey, and stored so many documents that every index had seen long arrays
// before it was asked. It also passed over what it took for differences of the old server: null
// with an index in the path, negated, or in a sparse index.
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

#include "command/commands/testing/service.h"

namespace command::differential {

struct NodeMember;

// A JSON value: text as it is, or named (object) or unnamed (array) members.
struct Node {
    enum class Kind { text, object, array };
    Kind kind = Kind::text;
    std::string text;
    std::vector<NodeMember> members;

    std::string json() const;
    Node& set(std::string name, Node value);  // an object's member; the last of a name counts
    Node& push(Node value);                   // an array's
    const Node* find(const std::string& name) const;
};
// No pair: clang wants to know all of a Node to make one.
struct NodeMember {
    std::string name;
    Node value;
};
Node text(std::string json);
Node object();
Node array();

// Documents and index definitions ({key, and options}), and one operation on them:
//   {find: {filter, projection, sort, skip, limit}}     {count: {query}}   {distinct: {key, query}}
//   {aggregate: {pipeline, collation}}                   {delete: {q}}
//   where a stage has "from": "own", that is the collection itself
//   {update: {q, u, multi, upsert}}: without multi `u` gives each document the same
//   {findAndModify: {query, sort, remove, update, new, upsert}}
//   {range: {filter, min, max}}: a find by the keys of the index on the fields of min and max
//   {cursor: {filter, change}}: some documents are read, then the change (an update or a delete) is
//   made, then the rest is read
// A query that only an index answers is held against what is computed from all documents
// (command/commands/testing/differential_right.h):
//   {near: {path, near, filter, limit, skip}}: a find of {path: near, and the filter}
//   {geoNear: {stage, limit}}
//   {text: {text, filter, or, sort, limit}}: a find of {$text: text}, or of $or with `or`
struct Case {
    Node documents = array();
    Node indexes = array();
    Node operation = object();

    std::string show() const;
};

class Generator {
  public:
    explicit Generator(uint64_t seed);
    void make_data(Case& out);  // documents and indexes
    Node read();
    Node write();

  private:
    static constexpr int kFilterDepth = 3;
    // The data of a seed are about any values, or about what indexes of another kind hold.
    enum class Subject { values, flat, sphere, words };
    int below(int n) { return static_cast<int>(random_() % static_cast<uint64_t>(n)); }
    bool chance(int percent) { return below(100) < percent; }
    template <typename List>
    std::string pick(const List& list) {
        return list[static_cast<size_t>(below(static_cast<int>(std::size(list))))];
    }
    Node any_of(const std::vector<const char*>& list);
    std::string path(std::string top);
    std::string place();
    std::string place_in_element();

    Node scalar();
    Node value(int depth);
    Node document(int id);
    Node index();
    Node partial_filter(int depth);

    // Make the operands that operators take. Operands without a depth of their own have the
    // parameter for the table.
    Node operand(int depth);
    Node list(int depth);
    Node list_for_all(int depth);
    Node negated(int depth);
    Node element(int depth);
    Node regex();
    Node operators(int depth);
    Node filter(int depth, bool in_element);
    Node filter();
    Node comparison();
    Node expression();
    Node filter_of_today();

    Node sort();
    Node find();
    Node joined();
    Node stages();
    void add_collation(Node& request);
    Node range();
    Node modifiers();
    void add_modifiers(const char* name, Node& request);
    Node cursor();

    // Places and words (differential_special.cpp).
    void make_special_data(Case& out);
    Node special_document(int id);
    Node special_index();
    Node special_value();
    Node special_filter(int depth);
    Node special_read();
    Node special_write();
    Node special_modifiers();
    Node predicate();
    Node near();
    Node near_stage();
    Node text_search();
    Node plain_condition();
    std::string number(int low, int high);
    std::string pair();
    std::string position();
    std::string ring();
    std::string geometry();
    std::string area();
    std::string words(int most);

    std::mt19937_64 random_;
    Subject subject_ = Subject::values;
    double base_x_ = 0, base_y_ = 0;   // the positions of a seed are around it
    std::string special_path_;         // of the places or words
    std::vector<std::string> prefix_;  // fields before the words in the index
    // The values that the data of a seed lean to.
    std::vector<const char*> scalars_;
    bool has_large_ = false;     // numbers beyond 2^53
    bool has_variable_ = false;  // $$v, in the expression that is being made
    int depth_ = 0;              // of documents
    std::vector<std::string> places_;
    std::vector<Node> keys_;     // of the indexes
    std::vector<Node> filters_;  // of the partial ones
};

// An engine with the collections that a case needs.
class Ways {
  public:
    explicit Ways(TestEngine engine);
    ~Ways();
    // Takes documents and indexes over; leaves out of `data` the indexes that can't be built.
    void load(Case& data);
    // Runs the operation in all ways. Returns an empty text if all agree, and if after a write
    // each index is what it would be if it were built now; else what does not. If the operation
    // writes, the data must be loaded again.
    std::string check(const Case& one);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

// The smallest case found that still fails.
Case shrink(Ways& ways, Case failing);

}  // namespace command::differential

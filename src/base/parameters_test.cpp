#include "base/parameters.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace base {
namespace {

class ParametersTest : public testing::Test {
  protected:
    ParametersTest() { remove_all_parameters(); }
    ~ParametersTest() override { remove_all_parameters(); }

    Parameter parameter(std::string name, Parameter::Type type) {
        Parameter p;
        p.name = std::move(name);
        p.type = type;
        p.get = [this] { return value_; };
        p.set = [this](const ParameterValue& value) { value_ = value; };
        return p;
    }
    static int code_of(const std::function<void()>& call) {
        try {
            call();
        } catch (const Error& error) {
            return error.code();
        }
        return 0;
    }
    std::optional<ParameterValue> value_;
};

TEST_F(ParametersTest, AreFoundByNameAndListedSorted) {
    add_parameter(parameter("zeta", Parameter::Type::boolean));
    add_parameter(parameter("alpha", Parameter::Type::text));
    ASSERT_NE(find_parameter("zeta"), nullptr);
    EXPECT_EQ(find_parameter("nosuch"), nullptr);
    ASSERT_EQ(all_parameters().size(), 2u);
    EXPECT_EQ(all_parameters().front()->name, "alpha");
}

TEST_F(ParametersTest, AreSetFromText) {
    add_parameter(parameter("flag", Parameter::Type::boolean));
    add_parameter(parameter("count", Parameter::Type::integer));
    add_parameter(parameter("delay", Parameter::Type::number));
    add_parameter(parameter("name", Parameter::Type::text));
    set_parameter_at_start("flag", "true");
    EXPECT_EQ(value_, ParameterValue(true));
    set_parameter_at_start("flag", "0");
    EXPECT_EQ(value_, ParameterValue(false));
    set_parameter_at_start("count", "-12");
    EXPECT_EQ(value_, ParameterValue(-12));
    set_parameter_at_start("delay", "0.5");
    EXPECT_EQ(value_, ParameterValue(0.5));
    set_parameter_at_start("name", "x=y");
    EXPECT_EQ(value_, ParameterValue(std::string("x=y")));
    for (const char* bad : {"", "abc", "1.5", "12x", "99999999999", "nan"})
        EXPECT_EQ(code_of([&] { set_parameter_at_start("count", bad); }), kBadValue) << bad;
    EXPECT_EQ(code_of([] { set_parameter_at_start("flag", "yes"); }), kBadValue);
    EXPECT_EQ(code_of([] { set_parameter_at_start("delay", "inf"); }), kBadValue);
}

TEST_F(ParametersTest, SayWhenTheyMayBeSet) {
    Parameter late = parameter("late", Parameter::Type::integer);
    late.at_start = false;
    add_parameter(late);
    Parameter fixed = parameter("fixed", Parameter::Type::integer);
    fixed.set = nullptr;
    add_parameter(fixed);
    EXPECT_EQ(code_of([] { set_parameter_at_start("late", "1"); }), kBadValue);
    EXPECT_EQ(code_of([] { set_parameter_at_start("fixed", "1"); }), kBadValue);
    EXPECT_EQ(code_of([] { set_parameter_at_start("nosuch", "1"); }), kBadValue);
    EXPECT_FALSE(value_.has_value());
}

TEST_F(ParametersTest, ConvertWhatCommandsGive) {
    const Parameter flag = parameter("flag", Parameter::Type::boolean);
    const Parameter count = parameter("count", Parameter::Type::integer);
    const Parameter delay = parameter("delay", Parameter::Type::number);
    const Parameter name = parameter("name", Parameter::Type::text);
    EXPECT_EQ(convert_parameter(flag, 2.0), ParameterValue(true));
    EXPECT_EQ(convert_parameter(flag, 0), ParameterValue(false));
    EXPECT_EQ(convert_parameter(count, true), ParameterValue(1));
    EXPECT_EQ(convert_parameter(count, 3.0), ParameterValue(3));
    EXPECT_EQ(convert_parameter(delay, 3), ParameterValue(3.0));
    EXPECT_EQ(convert_parameter(name, std::string("x")), ParameterValue(std::string("x")));
    EXPECT_EQ(code_of([&] { convert_parameter(count, 1.5); }), kTypeMismatch);
    EXPECT_EQ(code_of([&] { convert_parameter(count, 1e10); }), kTypeMismatch);
    EXPECT_EQ(code_of([&] { convert_parameter(count, std::string("1")); }), kTypeMismatch);
    EXPECT_EQ(code_of([&] { convert_parameter(name, 1); }), kTypeMismatch);
}

TEST_F(ParametersTest, HaveATextForm) {
    EXPECT_EQ(parameter_text(true), "true");
    EXPECT_EQ(parameter_text(7), "7");
    EXPECT_EQ(parameter_text(0.5), "0.5");
    EXPECT_EQ(parameter_text(std::string("x")), "x");
}

}  // namespace
}  // namespace base

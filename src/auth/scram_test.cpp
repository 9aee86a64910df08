#include "auth/scram.h"

#include <gtest/gtest.h>

#include "auth/crypto.h"
#include "base/error.h"

namespace auth {
namespace {

struct Exchange {
    Mechanism mechanism;
    std::string salt;  // base64
    std::string server_nonce;
    std::string client_first, server_first, client_final, server_final;
};

// The examples of RFC 5802 and RFC 7677.
const Exchange kExamples[] = {
    {Mechanism::sha1, "QSXCR+Q6sek8bf92", "3rfcNHYJY1ZVvWVs7j",
     "n,,n=user,r=fyko+d2lbbFgONRv9qkxdawL",
     "r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,s=QSXCR+Q6sek8bf92,i=4096",
     "c=biws,r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,p=v0X8v3Bz2T0CJGbJQyF0X+HI4Ts=",
     "v=rmF9pqV8S7suAoZWja4dJRkFsKQ="},
    {Mechanism::sha256, "W22ZaJ0SNY7soEsUEjb6gQ==", "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0",
     "n,,n=user,r=rOprNGfwEbeRWgbNEkqO",
     "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
     "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
     "p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
     "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="},
};

Credential pencil(const Exchange& example) {
    return make_credential(example.mechanism, "pencil", *from_base64(example.salt), 4096);
}

// Returns the last answer of the server in an exchange that goes as the example does, but for
// client-final.
std::optional<std::string> end_of(const Exchange& example, const std::string& client_final,
                                  bool is_real = true) {
    ScramServer server(example.mechanism, example.server_nonce);
    EXPECT_EQ(server.start(example.client_first), "user");
    EXPECT_EQ(server.answer(pencil(example), is_real), example.server_first);
    return server.finish(client_final);
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
    const size_t at = text.find(what);
    EXPECT_NE(at, std::string::npos) << what;
    return text.replace(at, what.size(), by);
}

TEST(Scram, TheExamplesOfTheStandards) {
    for (const Exchange& example : kExamples)
        EXPECT_EQ(end_of(example, example.client_final), example.server_final);
}

TEST(Scram, AProofThatIsNoneEndsIt) {
    for (const Exchange& example : kExamples) {
        const std::string& right = example.client_final;
        const std::string nonce = right.substr(7, right.rfind(",p=") - 7);
        const std::string proof = right.substr(right.rfind(",p=") + 3);
        for (const std::string& wrong :
             {replaced(right, "c=biws", "c=eSws"),  // "y,,"
              replaced(right, nonce, nonce + "x"), replaced(right, nonce, nonce.substr(1)),
              replaced(right, proof, to_base64(std::string(20, 'x'))),
              replaced(right, proof, to_base64(std::string(32, 'x'))),
              replaced(right, proof, proof.substr(4)), replaced(right, proof, ""),
              replaced(right, ",p=", ",q="), replaced(right, "c=biws,", ""),
              replaced(right, "c=biws,", "c=biws,x=1,"), right + ",x=1", right + " ",
              std::string()})
            EXPECT_EQ(end_of(example, wrong), std::nullopt) << wrong;
        EXPECT_EQ(end_of(example, right, false), std::nullopt);
    }
}

TEST(Scram, AFirstMessageThatIsNoneEndsIt) {
    for (const char* wrong : {"", "n", "n,", "n,,", "n,,n=user", "n,,r=abc,n=user", "n,,n=,r=abc",
                              "n,,n=user,r=", "n,,n=us=er,r=abc", "n,,n=user=2,r=abc",
                              "n,,n=user,r=a b", "p=tls-unique,,n=user,r=abc", "x,,n=user,r=abc",
                              "n,a=other,n=user,r=abc", "n,a=user", "n,,m=ext,n=user,r=abc"}) {
        ScramServer server(Mechanism::sha256);
        EXPECT_EQ(server.start(wrong), std::nullopt) << wrong;
        EXPECT_FALSE(server.failure().empty());
    }
    ScramServer long_one(Mechanism::sha256);
    EXPECT_EQ(long_one.start("n,,n=user,r=" + std::string(2040, 'r')), std::nullopt);
    std::string commas;  // of the longest name
    for (int i = 0; i < 512; ++i)
        commas += "=2C";
    ScramServer longest(Mechanism::sha256);
    EXPECT_EQ(longest.start("n,,n=" + commas + ",r=" + std::string(100, 'r')),
              std::string(512, ','));
}

TEST(Scram, NamesMayHaveWhatSeparatesAttributes) {
    ScramServer server(Mechanism::sha1);
    EXPECT_EQ(server.start("n,,n=a=2Cb=3Dc,r=abc"), "a,b=c");
    ScramServer himself(Mechanism::sha1);
    EXPECT_EQ(himself.start("y,a=a=2Cb,n=a=2Cb,r=abc"), "a,b");
}

TEST(Scram, TheServersNonceIsNewEachTime) {
    std::string first;
    for (int i = 0; i < 2; ++i) {
        ScramServer server(Mechanism::sha256);
        ASSERT_TRUE(server.start("n,,n=user,r=abc"));
        const std::string said =
            server.answer(dummy_credential(Mechanism::sha256, "s", "u"), false);
        EXPECT_TRUE(said.starts_with("r=abc"));
        EXPECT_NE(said, first);
        first = said;
    }
}

TEST(Scram, AnUnknownUserLooksLikeAnyOther) {
    for (const Mechanism mechanism : kMechanisms) {
        const Credential one = dummy_credential(mechanism, "secret", "admin.unknown");
        EXPECT_EQ(one.salt.size(), salt_size(mechanism));
        EXPECT_EQ(one.iterations, default_iterations(mechanism));
        EXPECT_EQ(one.salt, dummy_credential(mechanism, "secret", "admin.unknown").salt);
        EXPECT_NE(one.salt, dummy_credential(mechanism, "secret", "admin.unknowm").salt);
        EXPECT_NE(one.salt, dummy_credential(mechanism, "other", "admin.unknown").salt);
        const Credential real = make_credential(mechanism, "u", Password{"p"});
        EXPECT_EQ(real.salt.size(), one.salt.size());
        EXPECT_EQ(real.stored_key.size(), one.stored_key.size());
    }
}

TEST(Scram, WhatIsHashedForAPassword) {
    // The digest is md5("user:mongo:pencil").
    const std::string digest = hex(hash(Digest::md5, "user:mongo:pencil"));
    EXPECT_EQ(secret_of(Mechanism::sha1, "user", {"pencil"}), digest);
    EXPECT_EQ(secret_of(Mechanism::sha1, "user", {digest, true}), digest);
    EXPECT_EQ(secret_of(Mechanism::sha256, "user", {"pencil"}), "pencil");
    EXPECT_THROW(secret_of(Mechanism::sha256, "user", {digest, true}), base::Error);
}

// The examples of RFC 4013, and what it forbids.
TEST(Scram, PasswordsInTheirSaslPrepForm) {
    const auto prepared = [](const std::string& text) {
        return secret_of(Mechanism::sha256, "user", {text});
    };
    EXPECT_EQ(prepared("I\xC2\xADX"), "IX");
    EXPECT_EQ(prepared("user"), "user");
    EXPECT_EQ(prepared("USER"), "USER");
    EXPECT_EQ(prepared("\xC2\xAA"), "a");
    EXPECT_EQ(prepared("\xE2\x85\xA8"), "IX");
    EXPECT_EQ(prepared("a\xC2\xA0z"), "a z");
    for (const std::string& wrong :
         {std::string("\x07"), std::string("\xD8\xA7\x31"), std::string("a\0b", 3),
          std::string("\xFF"), std::string("\xF0\x9F\xA4\xAF")})
        EXPECT_THROW(prepared(wrong), base::Error) << hex(wrong);
}

// Preparing takes the square of the length: a minute for the longest that a message can hold.
TEST(Scram, PasswordsHaveALimit) {
    const std::string longest(4096, 'x');
    for (const Mechanism mechanism : kMechanisms) {
        secret_of(mechanism, "user", {longest});
        EXPECT_THROW(secret_of(mechanism, "user", {longest + "x"}), base::Error);
    }
}

TEST(Base64, ThereAndBack) {
    for (const std::string& text :
         {std::string(), std::string("f"), std::string("fo"), std::string("foo"),
          std::string("foob"), std::string("\0\xff\x80", 3)})
        EXPECT_EQ(from_base64(to_base64(text)), text);
    EXPECT_EQ(to_base64("fooba"), "Zm9vYmE=");
    for (const char* wrong : {"Zg", "Zg=", "Z===", "Zg==Zg==", "Z g=", "Zm9v\n", " Zm9", "Zm9%"})
        EXPECT_EQ(from_base64(wrong), std::nullopt) << wrong;
}

}  // namespace
}  // namespace auth

// A test harness of a page: TEST registers, CHECK fails with its place, main runs all.
#pragma once

#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace dsi::test {

struct Case {
  std::string name;
  std::function<void()> body;
};

inline std::vector<Case>& cases() {
  static std::vector<Case> all;
  return all;
}

struct Registered {
  Registered(const char* name, std::function<void()> body) { cases().push_back({name, std::move(body)}); }
};

[[noreturn]] inline void fail(const char* file, int line, const std::string& what) {
  throw std::runtime_error(std::string(file) + ":" + std::to_string(line) + ": " + what);
}

// Deterministic numbers in [-1, 1).
class Numbers {
 public:
  explicit Numbers(uint32_t seed) : state_(seed * 2654435761u + 1u) {}
  float next() {
    state_ = state_ * 1664525u + 1013904223u;
    return static_cast<float>(static_cast<int32_t>(state_)) * 0x1p-31f;
  }
  std::vector<float> many(size_t n) {
    std::vector<float> out(n);
    for (float& x : out) x = next();
    return out;
  }

 private:
  uint32_t state_;
};

}  // namespace dsi::test

#define DSI_JOIN2(a, b) a##b
#define DSI_JOIN(a, b) DSI_JOIN2(a, b)
#define TEST(name)                                                                             \
  static void DSI_JOIN(test_, __LINE__)();                                                     \
  static const ::dsi::test::Registered DSI_JOIN(registered_, __LINE__)(name, DSI_JOIN(test_, __LINE__)); \
  static void DSI_JOIN(test_, __LINE__)()
#define CHECK(condition)                                                    \
  do {                                                                      \
    if (!(condition)) ::dsi::test::fail(__FILE__, __LINE__, #condition);    \
  } while (false)
#define CHECK_THROWS(type, expression)                                                          \
  do {                                                                                          \
    bool thrown = false;                                                                        \
    try {                                                                                       \
      expression;                                                                               \
    } catch (const type&) {                                                                     \
      thrown = true;                                                                            \
    }                                                                                           \
    if (!thrown) ::dsi::test::fail(__FILE__, __LINE__, #expression " did not throw " #type);    \
  } while (false)

// Errors that reach JavaScript with a code; src/native/errors.ts turns each code into its class.
#pragma once

#include <stdexcept>
#include <string>

namespace dsi {

class CodedError : public std::runtime_error {
 public:
  CodedError(const char* code, const std::string& message) : std::runtime_error(message), code_(code) {}
  const char* code() const { return code_; }

 private:
  const char* code_;
};

struct LaunchError : CodedError {
  explicit LaunchError(const std::string& message) : CodedError("DSI_LAUNCH", message) {}
};
struct ProgramError : CodedError {
  explicit ProgramError(const std::string& message) : CodedError("DSI_PROGRAM", message) {}
};
struct WeightError : CodedError {
  explicit WeightError(const std::string& message) : CodedError("DSI_WEIGHT", message) {}
};
struct DisposedError : CodedError {
  explicit DisposedError(const std::string& object) : CodedError("DSI_DISPOSED", object) {}
};

}  // namespace dsi

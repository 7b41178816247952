#include "ipc/process.hpp"

namespace farport::ipc {

Result<SetEnvironmentVariable> SetEnvironmentVariable::decode(BytesView payload) {
  Reader in(payload, "SetEnvironmentVariable");
  SetEnvironmentVariable command;
  command.name = in.string();
  command.value = in.optional_string();
  return in.whole_result(std::move(command));
}

Bytes SetEnvironmentVariable::encode() const {
  Writer out;
  out.string(name);
  out.optional_string(value);
  return out.take();
}

Result<EnablePerfMap> EnablePerfMap::decode(BytesView payload) {
  Reader in(payload, "EnablePerfMap");
  const std::uint32_t type = in.u32();
  if (type < 1 || type > 3) in.reject("unknown type of map " + std::to_string(type));
  return in.whole_result(EnablePerfMap{static_cast<PerfMapType>(type)});
}

Bytes EnablePerfMap::encode() const {
  Writer out;
  out.u32(static_cast<std::uint32_t>(type));
  return out.take();
}

Result<ApplyStartupHook> ApplyStartupHook::decode(BytesView payload) {
  Reader in(payload, "ApplyStartupHook");
  ApplyStartupHook command;
  command.path = in.string();
  return in.whole_result(std::move(command));
}

Bytes ApplyStartupHook::encode() const {
  Writer out;
  out.string(path);
  return out.take();
}

Result<EnvironmentAnswer> EnvironmentAnswer::decode(BytesView payload) {
  Reader in(payload, "the answer to ProcessEnvironment");
  EnvironmentAnswer answer;
  answer.size = in.u32();
  in.u16();  // For future use.
  return in.result(answer);
}

Bytes EnvironmentAnswer::encode() const {
  Writer out;
  out.u32(size);
  out.u16(0);
  return out.take();
}

Result<std::vector<std::string>> decode_environment(BytesView continuation) {
  Reader in(continuation, "the environment");
  std::vector<std::string> variables(in.count(sizeof(std::uint32_t)));
  for (std::string& variable : variables) variable = in.string();
  return in.result(std::move(variables));
}

Bytes encode_environment(const std::vector<std::string>& variables) {
  Writer out;
  out.count(variables.size());
  for (const std::string& variable : variables) out.string(variable);
  return out.take();
}

}  // namespace farport::ipc

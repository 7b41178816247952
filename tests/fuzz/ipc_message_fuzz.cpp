// Fuzzes the IPC message and the payload of every command and answer. A size that does not match the input
// makes no message, but its payload is decoded all the same: else hardly a mutation would get that far.
#include <algorithm>
#include <span>

#include "ipc/event_pipe.hpp"
#include "ipc/message.hpp"
#include "ipc/payload.hpp"
#include "tests/fake_runtime/answers.hpp"
#include "tests/fuzz/target.hpp"

using namespace farport::ipc;
using farport::fuzz::check_round_trip;
using farport::fuzz::require;

namespace {

void check_message(BytesView bytes, const Header& header) {
  require(std::ranges::equal(encode_header(header), bytes.first(kHeaderSize)),
          "a header is encoded as it was");
  require(decode_message(bytes).has_value() == (header.size == bytes.size()),
          "a message is what has the size that its header gives");
  check_round_trip(bytes, decode_message,
                   [](const Message& message) { return encode_message(message).value(); });
}

template <typename Payload>
void check_payload(BytesView bytes) {
  check_round_trip(bytes, Payload::decode, [](const Payload& payload) { return payload.encode(); });
}

void check_collect_tracing(Command command, BytesView bytes) {
  const auto decode = [command](BytesView payload) { return CollectTracing::decode(command, payload); };
  check_round_trip(bytes, decode, [](const CollectTracing& session) { return session.encode(); });
}

void check_process_info(Command command, BytesView bytes) {
  const auto decode = [command](BytesView payload) { return decode_process_info(command, payload); };
  check_round_trip(bytes, decode,
                   [command](const ProcessInfo& info) { return encode_process_info(command, info); });
}

void check_error(BytesView bytes) {
  const auto decode = [](BytesView payload) {
    return decode_error(make_message(kError, {payload.begin(), payload.end()}));
  };
  check_round_trip(bytes, decode, [](const ErrorAnswer& error) {
    require(!error.message().empty(), "an error answer can be told");
    return decode_message(encode_error(error.hresult, error.text)).value().payload;
  });
}

/// An OK answer does not say which command it answers: its payload is read as the answer to each of them.
void check_ok(BytesView bytes) {
  check_payload<SessionId>(bytes);
  check_payload<EnvironmentAnswer>(bytes);
  check_round_trip(bytes, decode_environment, encode_environment);
  for (const Command command : {kProcessInfo, kProcessInfo2, kProcessInfo3}) {
    check_process_info(command, bytes);
  }
}

constexpr unsigned number(Command command) {
  return command.set << 8U | command.id;
}

void check_payload_of(Command command, BytesView bytes) {
  if (is_collect_tracing(command)) return check_collect_tracing(command, bytes);
  switch (number(command)) {
    case number(kGenerateCoreDump):
    case number(kGenerateCoreDump2):
    case number(kGenerateCoreDump3):
      return check_payload<GenerateCoreDump>(bytes);
    case number(kStopTracing):
      return check_payload<SessionId>(bytes);
    case number(kAttachProfiler):
      return check_payload<AttachProfiler>(bytes);
    case number(kStartupProfiler):
      return check_payload<StartupProfiler>(bytes);
    case number(kSetEnvironmentVariable):
      return check_payload<SetEnvironmentVariable>(bytes);
    case number(kEnablePerfMap):
      return check_payload<EnablePerfMap>(bytes);
    case number(kApplyStartupHook):
      return check_payload<ApplyStartupHook>(bytes);
    case number(kOk):
      return check_ok(bytes);
    case number(kError):
      return check_error(bytes);
    default:
      return;
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const BytesView bytes = std::as_bytes(std::span(data, size));
  const farport::Result<Header> header = decode_header(bytes);
  if (!header) {
    require(!decode_message(bytes).has_value(), "there is no message without a header");
    return 0;
  }
  check_message(bytes, *header);
  check_payload_of(header->command(), bytes.subspan(kHeaderSize));
  return 0;
}

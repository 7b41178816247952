"""The diagnostic IPC protocol, as far as the tests speak it themselves."""

import struct
import uuid

MAGIC = b"DOTNET_IPC_V1\0"
HEADER_BYTES = 20
DUMP, EVENT_PIPE, PROFILER, PROCESS, SERVER = 0x01, 0x02, 0x03, 0x04, 0xFF
OK, ERROR = 0x00, 0xFF
STOP_TRACING, COLLECT_TRACING, COLLECT_TRACING_5, COLLECT_TRACING_6 = 0x01, 0x02, 0x06, 0x07
STREAMING, USER_EVENTS = 0, 1
DROP, BLOCK = 0, 1
PROCESS_INFO, PROCESS_INFO_3, RESUME_RUNTIME, PROCESS_ENVIRONMENT, SET_ENVIRONMENT_VARIABLE = 0x00, 0x08, 0x01, 0x02, 0x03
ENABLE_PERF_MAP, DISABLE_PERF_MAP, APPLY_STARTUP_HOOK = 0x05, 0x06, 0x07
PERF_MAP = 3
ACCESS_DENIED, NOT_SUPPORTED, UNKNOWN_COMMAND = 0x80070005, 0x80131515, 0x80131385
FAILED, BAD_ENCODING = 0x80004005, 0x80131384
PROFILER_ID = uuid.UUID("cf0d821e-299b-5307-a3d8-b283c03916dd")


def message(command_set, command, payload=b""):
    """A whole message."""
    return struct.pack("<14sHBBH", MAGIC, HEADER_BYTES + len(payload), command_set, command, 0) + payload


def string(text):
    """A string in a payload; None is absent."""
    if text is None:
        return struct.pack("<I", 0)
    units = (text + "\0").encode("utf-16-le")
    return struct.pack("<I", len(units) // 2) + units


def parse_string(payload):
    """The string that a payload begins with."""
    units, = struct.unpack_from("<I", payload)
    return payload[4:4 + 2 * units].decode("utf-16-le").rstrip("\0")


def process_info():
    """The oldest question: who are you?"""
    return message(PROCESS, PROCESS_INFO)


def user_events_session(command=COLLECT_TRACING_5):
    """The beginning of a session whose events are to go to a file descriptor, which would follow."""
    return message(EVENT_PIPE, command, struct.pack("<IQBI", USER_EVENTS, 0, 0, 0))


def session(command, provider="Orders", level=5, mode=DROP):
    """CollectTracing, or one of its successors, of one provider, and without a rundown where that can be asked for."""
    version = command - COLLECT_TRACING + 1
    payload = struct.pack("<I", STREAMING) if version >= 5 else b""
    payload += struct.pack("<II", 16, 1)
    if version in (2, 3):
        payload += struct.pack("<B", 0)
    if version >= 4:
        payload += struct.pack("<Q", 0)
    if version >= 3:
        payload += struct.pack("<B", 0)
    payload += struct.pack("<IQI", 1, 0xFFFFFFFFFFFFFFFF, level) + string(provider) + string(None)
    if version >= 5:
        payload += struct.pack("<BI", 0, 0)
    if version >= 6:
        payload += struct.pack("<I", mode)
    return message(EVENT_PIPE, command, payload)


def stop_session(session_id):
    """StopTracing."""
    return message(EVENT_PIPE, STOP_TRACING, struct.pack("<Q", session_id))


def core_dump(version, path, kind=1):
    """GenerateCoreDump, 2 or 3."""
    return message(DUMP, version, string(path) + struct.pack("<II", kind, 0))


def attach_profiler(path):
    """AttachProfiler."""
    return message(PROFILER, 0x01, struct.pack("<I", 1000) + PROFILER_ID.bytes_le + string(path) + struct.pack("<I", 0))


def startup_profiler(path):
    """StartupProfiler."""
    return message(PROFILER, 0x02, PROFILER_ID.bytes_le + string(path))


def startup_hook(path):
    """ApplyStartupHook."""
    return message(PROCESS, APPLY_STARTUP_HOOK, string(path))


def set_variable(name, value):
    """SetEnvironmentVariable."""
    return message(PROCESS, SET_ENVIRONMENT_VARIABLE, string(name) + string(value))


def enable_perf_map():
    """EnablePerfMap of the kind that makes perf-PID.map."""
    return message(PROCESS, ENABLE_PERF_MAP, struct.pack("<I", PERF_MAP))


def parse(data):
    """(command set, command, payload) of a message; what follows it is left out."""
    magic, size, command_set, command, _ = struct.unpack_from("<14sHBBH", data)
    if magic != MAGIC or size > len(data):
        raise ValueError(f"not a whole message: {data[:64]!r} ({len(data)} bytes)")
    return command_set, command, data[HEADER_BYTES:size]


def is_ok(data):
    """Whether an answer is OK."""
    return parse(data)[:2] == (SERVER, OK)


def parse_session(data):
    """The id in an answer that begins a session."""
    command_set, command, payload = parse(data)
    if (command_set, command) != (SERVER, OK):
        raise ValueError(f"refused: {payload.hex()}")
    return struct.unpack_from("<Q", payload)[0]


def parse_environment(data):
    """The variables of an answer to ProcessEnvironment, with its continuation."""
    size = len(parse(data)[2]) + HEADER_BYTES
    continuation = data[size:]
    count, = struct.unpack_from("<I", continuation)
    place, variables = 4, {}
    for _ in range(count):
        units, = struct.unpack_from("<I", continuation, place)
        text = continuation[place + 4:place + 4 + 2 * units].decode("utf-16-le").rstrip("\0")
        name, _, value = text.partition("=")
        variables[name] = value
        place += 4 + 2 * units
    return variables


def parse_process_info(data):
    """(pid, cookie) of an answer to ProcessInfo."""
    command_set, command, payload = parse(data)
    if (command_set, command) != (SERVER, OK):
        raise ValueError(f"refused: {payload.hex()}")
    pid, cookie = struct.unpack_from("<Q16s", payload)
    return pid, str(uuid.UUID(bytes_le=cookie))


def parse_error(data):
    """The HRESULT of an error answer."""
    command_set, command, payload = parse(data)
    if (command_set, command) != (SERVER, ERROR):
        raise ValueError("not an error")
    return struct.unpack_from("<I", payload)[0]

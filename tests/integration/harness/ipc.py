"""The diagnostic IPC protocol, as far as the tests speak it themselves."""

import struct
import uuid

MAGIC = b"DOTNET_IPC_V1\0"
HEADER_BYTES = 20
EVENT_PIPE, PROCESS, SERVER = 0x02, 0x04, 0xFF
OK, ERROR = 0x00, 0xFF
COLLECT_TRACING_5 = 0x06
USER_EVENTS = 1
PROCESS_INFO, RESUME_RUNTIME, PROCESS_ENVIRONMENT, PROCESS_INFO_3 = 0x00, 0x01, 0x02, 0x08
ACCESS_DENIED, NOT_SUPPORTED, UNKNOWN_COMMAND = 0x80070005, 0x80131515, 0x80131385


def message(command_set, command, payload=b""):
    """A whole message."""
    return struct.pack("<14sHBBH", MAGIC, HEADER_BYTES + len(payload), command_set, command, 0) + payload


def process_info():
    """The oldest question: who are you?"""
    return message(PROCESS, PROCESS_INFO)


def user_events_session():
    """The beginning of a CollectTracing5 whose events are to go to a file descriptor, which would follow."""
    return message(EVENT_PIPE, COLLECT_TRACING_5, struct.pack("<IQBI", USER_EVENTS, 0, 0, 0))


def parse(data):
    """(command set, command, payload) of a message; what follows it is left out."""
    magic, size, command_set, command, _ = struct.unpack_from("<14sHBBH", data)
    if magic != MAGIC or size > len(data):
        raise ValueError(f"not a whole message: {data[:64]!r} ({len(data)} bytes)")
    return command_set, command, data[HEADER_BYTES:size]


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

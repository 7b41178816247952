#!/usr/bin/env python3
"""Writes the seeds of the fuzz targets that are named .bin.

Run it after a change and commit what it writes. The seeds in corpus/configuration are written by hand, the PEM
ones in corpus/tls_files by openssl: the key in there is that of RFC 8410.
"""
import base64
import io
import pathlib
import struct
import tarfile
import uuid

CORPUS = pathlib.Path(__file__).parent / "corpus"
COOKIE = uuid.UUID("123e4567-e89b-12d3-a456-426614174000").bytes_le
PROFILER = uuid.UUID("cf0d821e-299b-5307-a3d8-b283c03916dd").bytes_le
OK, ERROR = 0xFF00, 0xFFFF
NO_STRING = struct.pack("<I", 0)


def u8(value):
    return struct.pack("<B", value)


def u32(value):
    return struct.pack("<I", value)


def u64(value):
    return struct.pack("<Q", value)


def string(text):
    return units(*struct.unpack(f"<{len(text.encode('utf-16-le')) // 2}H", text.encode("utf-16-le")), 0)


def units(*values):
    """A string of these UTF-16 units, which end with a zero where the string is a right one."""
    return u32(len(values)) + struct.pack(f"<{len(values)}H", *values)


def array(*elements):
    return u32(len(elements)) + b"".join(elements)


def message(command, payload=b"", size=None, magic=b"DOTNET_IPC_V1\0"):
    size = 20 + len(payload) if size is None else size
    return magic + struct.pack("<H", size) + struct.pack(">H", command) + bytes(2) + payload


def provider(name, keywords, level=5, arguments=NO_STRING, more=b""):
    return u64(keywords) + u32(level) + string(name) + arguments + more


RUNTIME = provider("Microsoft-Windows-DotNETRuntime", 0x14C14FCCBD, 4)
SAMPLER = provider("Microsoft-DotNETCore-SampleProfiler", 0xF00000000000)
COUNTERS = provider("System.Runtime", 0xFFFFFFFFFFFFFFFF, 4, string("EventCounterIntervalSec=1"))
ALL_EVENTS = u8(0) + array()
SOME_EVENTS = u8(1) + array(u32(1), u32(80), u32(250))
TRACEPOINTS = string("dotnet_events") + array(
    string("gc_events") + array(u32(1), u32(2)), string("jit_events") + array(u32(145)))

STREAM = u32(256) + u32(1)  # The buffer in MB, and nettrace.
STREAMING, USER_EVENTS = u32(0), u32(1)
RUNDOWN = u64(0x80020139)

CORE_DUMP = string("/dumps/core.4711") + u32(4) + u32(5)
PROCESS = u64(4711) + COOKIE + string("dotnet orders.dll --port 5000") + string("Linux") + string("x64")
PROCESS_2 = PROCESS + string("orders") + string("10.0.0+b0f34d51fccc69fd334253924abd8d6853fad7aa")
PROCESS_3 = u32(1) + PROCESS_2 + string("linux-x64")

COMMANDS = {
    "generate_core_dump": message(0x0101, CORE_DUMP),
    "generate_core_dump2": message(0x0102, CORE_DUMP),
    "generate_core_dump3": message(0x0103, CORE_DUMP),
    "stop_tracing": message(0x0201, u64(0x7F12A4003C80)),
    "collect_tracing": message(0x0202, STREAM + array(RUNTIME)),
    "collect_tracing2": message(0x0203, STREAM + u8(1) + array(RUNTIME, SAMPLER, COUNTERS)),
    "collect_tracing3": message(0x0204, STREAM + u8(1) + u8(0) + array(RUNTIME)),
    "collect_tracing4": message(0x0205, STREAM + RUNDOWN + u8(1) + array(RUNTIME, COUNTERS)),
    "collect_tracing5": message(
        0x0206, STREAMING + STREAM + RUNDOWN + u8(1) + array(RUNTIME + ALL_EVENTS, COUNTERS + SOME_EVENTS)),
    "collect_tracing5_user_events": message(
        0x0206, USER_EVENTS + RUNDOWN + array(RUNTIME + SOME_EVENTS + TRACEPOINTS,
                                              COUNTERS + ALL_EVENTS + NO_STRING + array())),
    "collect_tracing6": message(
        0x0207, STREAMING + STREAM + RUNDOWN + u8(1) + array(RUNTIME + SOME_EVENTS) + u32(1)),
    "attach_profiler": message(
        0x0301, u32(5000) + PROFILER + string("/opt/profiler.so") + u32(4) + b"\x01\x02\x03\x04"),
    "startup_profiler": message(0x0302, PROFILER + string("/opt/profiler.so")),
    "process_info": message(0x0400),
    "resume_runtime": message(0x0401),
    "process_environment": message(0x0402),
    "set_environment_variable": message(0x0403, string("DOTNET_gcServer") + string("1")),
    "set_environment_variable_removed": message(0x0403, string("DOTNET_gcServer") + NO_STRING),
    "process_info2": message(0x0404),
    "enable_perf_map": message(0x0405, u32(3)),
    "disable_perf_map": message(0x0406),
    "apply_startup_hook": message(0x0407, string("/app/hook.dll")),
    "process_info3": message(0x0408),
}
ANSWERS = {
    "ok": message(OK, u32(0)),
    "ok_session": message(OK, u64(0x7F12A4003C80)),
    "ok_process_info": message(OK, PROCESS),
    "ok_process_info2": message(OK, PROCESS_2),
    "ok_process_info3": message(OK, PROCESS_3),
    "ok_environment_size": message(OK, u32(86) + bytes(2)),
    "ok_environment": message(OK, array(string("HOME=/root"), string("LANG=C.UTF-8"), string("NAME=Zoë 🦊"))),
    "error": message(ERROR, u32(0x80131385)),
    "error_with_text": message(ERROR, u32(0x80004005) + string("cannot open /dumps/core.4711")),
}
BROKEN = {
    "bad_magic": message(0x0400, magic=b"DOTNET_IPC_V2\0"),
    "bad_short_header": message(0x0400)[:19],
    "bad_size_below_header": message(0x0400, size=19),
    "bad_truncated": message(0x0203, STREAM + u8(1) + array(RUNTIME))[:60],
    "bad_tail": message(0x0407, string("/app/hook.dll") + b"more"),
    "bad_unknown_command": message(0x0242, u32(1)),
    "bad_string_count": message(0x0407, u32(0xFFFFFFFF) + b"/\0a\0\0\0"),
    "bad_provider_count": message(0x0203, STREAM + u8(1) + u32(0x0CCCCCCD) + RUNTIME),
    "bad_event_count": message(
        0x0206, STREAMING + STREAM + RUNDOWN + u8(1) + array(RUNTIME + u8(1) + u32(0x40000001) + u32(1))),
    "bad_unended_string": message(0x0407, units(0x2F, 0x61)),
    "bad_surrogates": message(0x0403, units(0xDC00, 0x41, 0xD800, 0) + units(0xD83E, 0xDD8A, 0xD83E, 0)),
    "bad_environment_count": message(OK, u32(0x40000000) + string("A=1")),
}
ADVERTISE = b"ADVR_V1\0" + COOKIE + u64(4711) + bytes(2)
ADVERTISES = {
    "advertise": ADVERTISE,
    "largest_pid": ADVERTISE[:24] + u64(2**64 - 1) + b"\xff\xff",
    "followed_by_a_message": ADVERTISE + message(0x0401),
    "bad_magic": ADVERTISE.replace(b"V1", b"V2"),
    "bad_truncated": ADVERTISE[:33],
}

# HTTP/2 (RFC 9113), its heads without compression (RFC 7541 section 6.2.2). The two bytes in front say how a
# session is fed: see http2_session_fuzz.cpp.
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
END_STREAM, ACK, END_HEADERS, PADDED = 1, 1, 4, 8
SERVER, CLIENT, SLOW_WRITES, FAILS, REST_AT_ONCE = 0, 1, 2, 4, 8


def frame(kind, flags=0, stream=0, payload=b""):
    return len(payload).to_bytes(3, "big") + bytes((kind, flags)) + struct.pack(">I", stream) + payload


def field(name, value):
    return b"\0" + b"".join(bytes((len(text),)) + text.encode() for text in (name, value))


def settings(**values):
    numbers = {"header_table": 1, "push": 2, "streams": 3, "window": 4, "frame": 5, "head": 6}
    return frame(SETTINGS, payload=b"".join(struct.pack(">HI", numbers[name], value) for name, value in values.items()))


def request(stream, method="POST", path="/v1/runtimes/1/connect", end=False, more=b""):
    head = field(":method", method) + field(":scheme", "https") + field(":authority", "agent") + field(":path", path)
    return frame(HEADERS, END_HEADERS | (END_STREAM if end else 0), stream, head + more)


def answer(stream, status="200", end=False):
    head = field(":status", status) + field("content-type", "text/plain")
    return frame(HEADERS, END_HEADERS | (END_STREAM if end else 0), stream, head)


def data(stream, content=b"some bytes" * 30, end=False):
    return frame(DATA, END_STREAM if end else 0, stream, content)


def reset(stream, code=8):
    return frame(RST_STREAM, stream=stream, payload=struct.pack(">I", code))


def window(stream, more):
    return frame(WINDOW_UPDATE, stream=stream, payload=struct.pack(">I", more))


def session(*frames, ways=SERVER, piece=255):
    """A client's or a server's side of a session, whichever the session under test is not."""
    preface = b"" if ways & CLIENT else PREFACE
    return bytes((ways, piece)) + preface + frames[0] + frame(SETTINGS, ACK) + b"".join(frames[1:])


MINE = settings(streams=100, window=200_000)
ODD = range(1, 13, 2)
EVERY_REQUEST = [part for stream in ODD for part in (request(stream), data(stream), data(stream, end=True))]
EVERY_ANSWER = [part for stream in ODD for part in (answer(stream), data(stream), data(stream, end=True))]
SESSIONS = {
    "server_get": session(MINE, request(1, "GET", "/v1/agent", end=True)),
    "server_every_use": session(MINE, *EVERY_REQUEST),
    "server_every_use_slowly": session(MINE, *EVERY_REQUEST, ways=SLOW_WRITES, piece=30),
    "server_byte_by_byte": session(MINE, request(1), data(1, b"x"), request(3, "GET", "/", end=True), piece=0),
    "server_wide_windows": session(
        settings(window=2**31 - 1), window(0, 2**31 - 65_536), *EVERY_REQUEST, ways=SLOW_WRITES),
    "server_no_window": session(settings(window=0), *EVERY_REQUEST, window(7, 10), settings(window=100_000)),
    "server_resets": session(MINE, *[part for stream in range(1, 61, 2) for part in (request(stream), reset(stream))]),
    "server_too_many_streams": session(MINE, *[request(stream) for stream in range(1, 21, 2)]),
    "server_continuation": session(
        MINE, frame(HEADERS, 0, 1, field(":method", "GET") + field(":scheme", "https")),
        frame(CONTINUATION, 0, 1, field(":path", "/")), frame(CONTINUATION, END_HEADERS, 1, field("x", "y"))),
    "server_continuation_flood": session(
        MINE, frame(HEADERS, 0, 1, field(":method", "GET")),
        *[frame(CONTINUATION, 0, 1, field("x", "y" * 100)) for _ in range(20)]),
    "server_long_head": session(MINE, request(1, more=b"".join(field(f"x{i}", "y" * 100) for i in range(8)), end=True)),
    "server_pings": session(MINE, *[frame(PING, payload=bytes(8))] * 40, frame(PING, ACK, payload=bytes(8))),
    "server_goaway": session(MINE, request(1), frame(GOAWAY, payload=bytes(8)), data(1, end=True)),
    "server_padding_and_priority": session(
        MINE, request(1), frame(DATA, PADDED, 1, b"\x05" + b"abc" + bytes(5)), frame(PRIORITY, 0, 1, bytes(5))),
    "server_too_much_data": session(MINE, request(1), *[data(1, bytes(1_000))] * 5),
    "server_fails": session(MINE, *EVERY_REQUEST[:8], ways=FAILS | SLOW_WRITES | REST_AT_ONCE, piece=100),
    "bad_preface": bytes((SERVER, 255)) + b"GET / HTTP/1.1\r\n\r\n",
    "bad_data_on_no_stream": session(MINE, data(5)),
    "bad_frame_size": session(MINE, request(1), frame(DATA, 0, 1, bytes(16_385))),
    "bad_window": session(MINE, request(1), window(1, 0), window(0, 2**31 - 1)),
    "bad_connect": session(MINE, request(1, "CONNECT", "/", end=True)),
    "bad_push": session(MINE, frame(PUSH_PROMISE, END_HEADERS, 1, struct.pack(">I", 2)), ways=CLIENT),
    "client_every_use": session(MINE, *EVERY_ANSWER, ways=CLIENT),
    "client_every_use_slowly": session(MINE, *EVERY_ANSWER, ways=CLIENT | SLOW_WRITES, piece=30),
    "client_early_answer": session(MINE, answer(1, end=True), answer(3, "100"), answer(3, "503", end=True), ways=CLIENT),
    "client_status_of_no_class": session(MINE, answer(1, "099"), data(1, end=True), answer(3, "099", end=True), ways=CLIENT),
    "client_resets": session(MINE, *[reset(stream, 7) for stream in ODD], ways=CLIENT),
    "client_goaway": session(MINE, answer(1), frame(GOAWAY, payload=struct.pack(">II", 5, 2)), data(1), ways=CLIENT),
    "client_no_more_streams": session(settings(streams=0), ways=CLIENT | SLOW_WRITES),
}

# The steps of resumption_fuzz.cpp, with the bytes that they take.
BEGIN, RESUME, WRITE, FINISH, FORGET, DIAL, TURNS = range(7)
WRONG_TOKEN, WRONG_NEXT, WRONG_RECEIVED, WRONG_FROM, SECOND_FROM, INSTANCE, WRONG_INSTANCE = (1 << bit for bit in range(7))
BEGUN = bytes((BEGIN, 1, 200, TURNS, 5))
LONG_BREAK, OTHER_CALLER = bytes((DIAL, 0, TURNS, 3)), bytes((DIAL, 2, TURNS, 3))
RESUMED = bytes((RESUME, 0, 0, TURNS, 15))


def words(text):
    """What Input::text() reads as this."""
    return bytes((len(text), *(ord(letter) - ord("!") for letter in text)))


RESUMPTIONS = {
    "whole": BEGUN + bytes((WRITE, 0, 50, FINISH, 0, 10, TURNS, 15, TURNS, 15)),
    "resumed": BEGUN + (LONG_BREAK + RESUMED) * 3 + bytes((FINISH, 0, 10, TURNS, 15)),
    "resumed_while_it_runs": BEGUN + RESUMED * 3,
    "resumed_by_another": BEGUN + OTHER_CALLER + RESUMED + LONG_BREAK + RESUMED,
    "wrong_places": BEGUN + LONG_BREAK + bytes((RESUME, 0, WRONG_RECEIVED, 200, 200, TURNS, 9)) + RESUMED
        + LONG_BREAK + bytes((RESUME, 0, WRONG_FROM, 1, 1, TURNS, 9)) + RESUMED,
    "earlier_place": BEGUN + bytes((TURNS, 15)) + LONG_BREAK + bytes((RESUME, 0, WRONG_RECEIVED, 1, 1, TURNS, 9)),
    "wrong_words": BEGUN + LONG_BREAK + bytes((RESUME, 0, WRONG_TOKEN)) + words("f" * 32)
        + bytes((RESUME, 0, WRONG_NEXT)) + words("-1") + bytes((RESUME, 0, SECOND_FROM)) + words("99999999999999999999")
        + bytes((RESUME, 0, WRONG_INSTANCE)) + words("0" * 32) + bytes((RESUME, 0, INSTANCE, TURNS, 9)),
    "same_token_twice": bytes((BEGIN, 0)) + words("a" * 32) + bytes((9, BEGIN, 0)) + words("a" * 32) + bytes((9, TURNS, 9)),
    "forgotten": BEGUN + bytes((FORGET, 0, 1, TURNS, 9)) + RESUMED + BEGUN + LONG_BREAK + bytes((FORGET, 1, 1)) + RESUMED,
    "many": BEGUN * 20 + LONG_BREAK + b"".join(bytes((RESUME, number, 0)) for number in range(16)) + bytes((TURNS, 15)),
    "writes_over_breaks": BEGUN + (bytes((WRITE, 0, 255, TURNS, 1)) + LONG_BREAK + RESUMED) * 4 + bytes((FINISH, 0, 1, TURNS, 9)),
}

# What an agent says (docs/developers/wire.md), after a byte that says what a mirror takes it for: see agent_json_fuzz.cpp.
LIST, EVENT, ACCESS, PROGRESS, KEPT, REFUSAL, DOCTOR = b"1234567"
AGENT_RUNTIME = (
    '{"id":"11111111-2222-3333-4444-555555555555","pid":1,"name":"orders","command_line":"./orders --port 80",'
    '"os":"linux","architecture":"x64","version":"10.0.1","state":"suspended","user":1000,"host":"orders-0",'
    '"since":"2026-11-22T03:00:00Z"}')
AGENT_SAYS = {
    "list": (LIST, f"[{AGENT_RUNTIME},{AGENT_RUNTIME}]"),
    "list_of_none": (LIST, "[]"),
    "event_added": (EVENT, f'{{"event":"added","runtime":{AGENT_RUNTIME}}}'),
    "event_listed": (EVENT, '{"event":"listed"}'),
    "access": (ACCESS, '[{"command":"ProcessInfo","allowed":true,"rule":"allow-cn=a","role":"observer","runtime":'
               '{"id":"x","name":"orders","pid":1}},{"command":"AttachProfiler","allowed":false,"why":"no role"}]'),
    "progress": (PROGRESS, '{"phase":"sending","written":10,"estimate":20,"sent":5,"total":10}'),
    "kept": (KEPT, '{"path":"/tmp/d.dmp","agent_path":"/proc/1/root/tmp/d.dmp","size":10}'),
    "refusal": (REFUSAL, '{"error":"busy \\u0001\\ud83d\\ude00","hresult":2147942570}'),
    "refusal_by_others": (REFUSAL, "<html>502 Bad Gateway</html>"),
    "doctor": (DOCTOR, '{"version":"0.1.0","time":"2026-11-22T03:00:00Z","diagnoses":[{"step":"process","level":"ok",'
               '"text":"1 runtime"},{"step":"dump","level":"problem","text":"no createdump","hint":"put it there",'
               '"runtime":{"id":"x","name":"orders","pid":1}}]}'),
    "bad_doctor": (DOCTOR, '{"version":7,"time":"now","diagnoses":[{"step":"a b","level":"fatal","text":1}]}'),
    "bad_nested": (LIST, "[" * 500),
    "bad_numbers": (LIST, "[" + AGENT_RUNTIME.replace('"pid":1', '"pid":1e400').replace("1000", "4294967296") + "]"),
}

# How it is read, in what pieces it comes and is read, and frames: see decompressing_stream_fuzz.cpp.
AS_IT_IS, ENCODE, READ_FAILS = 0, 1, 2


def raw_frame(content):
    """Of one block that is not compressed, as router/stream/raw_frame.hpp has it."""
    return b"\x28\xb5\x2f\xfd\x00\x38" + (len(content) << 3 | 1).to_bytes(3, "little") + content


# 1,000 times an x: a block of RLE (RFC 8878 section 3.1.1.2.2) after the same head.
RLE_FRAME = b"\x28\xb5\x2f\xfd\x00\x38" + (1000 << 3 | 1 << 1 | 1).to_bytes(3, "little") + b"x"
FRAMES = {
    "raw": bytes((AS_IT_IS, 255, 10)) + raw_frame(b"some bytes") * 3,
    "raw_byte_by_byte": bytes((AS_IT_IS, 0, 0)) + raw_frame(b"some bytes") + RLE_FRAME,
    "compressed": bytes((AS_IT_IS, 20, 1)) + RLE_FRAME + raw_frame(b"") + RLE_FRAME,
    "encoded": bytes((ENCODE, 30, 3)) + bytes(range(200)) * 4,
    "encoded_text": bytes((ENCODE, 200, 255)) + b"one event after the other " * 40,
    "fails": bytes((READ_FAILS, 30, 3)) + raw_frame(b"some bytes") * 3,
    "skippable": bytes((AS_IT_IS, 30, 3)) + b"\x50\x2a\x4d\x18\x04\0\0\0more" + RLE_FRAME,
    "skippable_end": bytes((AS_IT_IS, 30, 3)) + RLE_FRAME + b"\x50\x2a\x4d\x18\0\0\0\0",
    "bad_end": bytes((AS_IT_IS, 30, 3)) + raw_frame(b"some bytes")[:-1],
    "bad_window": bytes((AS_IT_IS, 30, 3)) + b"\x28\xb5\x2f\xfd\x00\xa8\x0b\0\0x",
    "bad_magic": bytes((AS_IT_IS, 30, 3)) + b"some bytes",
    "old_format": bytes((AS_IT_IS, 30, 253)) + b"\x27\xb5\x2f\xfd\0nQ\0\0some byte(",
}

# How a dump comes, in what pieces, how much more (times 256) and less is announced: see dump_sink_fuzz.cpp.
PLAIN, COMPRESSED, DUMP_ENCODED, ZEROS = 0, 1, 2, 4
DUMPS = {
    "plain": bytes((PLAIN, 1, 0, 0)) + b"a dump " * 40,
    "zeros": bytes((PLAIN | ZEROS, 3, 0, 0)) + bytes(4096) + b"a dump" + bytes(100),
    "compressed": bytes((COMPRESSED | DUMP_ENCODED | ZEROS, 1, 0, 0)) + b"a dump " * 40,
    "bad_more": bytes((PLAIN, 1, 0, 1)) + b"a dump " * 40,
    "bad_less": bytes((COMPRESSED | DUMP_ENCODED, 1, 1, 0)) + b"a dump " * 40,
    "bad_frame": bytes((COMPRESSED, 1, 4, 33)) + RLE_FRAME + b"and something after it",
}


def archived(**files):
    """A tar archive; a dot in a name is written as two underscores."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name.replace("__", "."))
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return made.getvalue()[:4096]


# Archives, behind a byte that says in what pieces they come, and whether the first sum is mended: see tar_fuzz.cpp.
ARCHIVES = {
    "two": b"\x10" + archived(a__so=b"some bytes" * 100, b__dll=b"more"),
    "small_pieces": b"\x00" + archived(a__so=b""),
    "mended": b"\xbf" + archived(a__so=b"some bytes"),
    "bad_end": b"\x10" + archived(a__so=b"some bytes")[:1024],
    "bad_link": b"\xff" + archived(a__so=b"").replace(b"0ustar", b"2ustar"),
}

# Method, target and accept-encoding: see api_request_fuzz.cpp.
REQUESTS = {
    "list": b"GET\n/v1/runtimes?watch=true\nzstd",
    "connection": b"POST\n/v1/runtimes/11111111-2222-3333-4444-555555555555/ipc\ngzip, ZStd;q=0.5",
    "dump": b"POST\n/v1/runtimes/1/dump?type=full&flags=1&stay=true\nzstd;q=0.000",
    "token": b"DELETE\n/v1/connections/0123456789abcdef0123456789abcdef\n",
    "only_token": b"GET\n0123456789abcdef0123456789abcdef\n*",
    "odd_place": b"POST\n/v1/runtimes/1.d2&{token}B/=x?{id}\n",
    "odd": b"GET\n/v1/runtimes//?=&&x=?y=z&x=2#f\n,;,=zstd",
    "escapes": b"GET\n/v1?a=%2525&b=%26c%3D%&d%3D=%%31%zz\n",
}

TOOLS = {
    "trace": b"dotnet-trace\ncollect\n--diagnostic-port\nlocalhost:9000/orders,listen\n-o\nx.nettrace",
    "forms": b"dotnet-counters\nmonitor\n-p:[::1]:9000\n--name=orders\n-n\nbilling\n--process-id=4711",
    "child": b"dotnet-trace\ncollect\n--\n./app\n-p\n1:2",
    "bad_value": b"dotnet-trace\ncollect\n-p\n--\n./app",
    "bad_port": b"dotnet-trace\n--diagnostic-port=a:1/b/c,connect,listen\n--diagnostic-port=:1\n-p",
}

MANIFESTS = {
    "sockets": b"@/stale\n@/live\n@/gone\n",
    "others": b"@/file\n@/directory\n@/link\n@/link-to-live\n@/../..\n/\n",
    "odd": b"\n@\n@/\nstale\n@/stale\0\n" + b"x" * 200 + b"\n@/directory/../stale",
}

# Streams of events, behind a byte that says in what pieces they come: see nettrace_fuzz.cpp. The seeds that are named
# .nettrace are the beginnings of real ones.
def u16(value):
    return struct.pack("<H", value)


def varuint(value):
    return bytes((value & 0x7F | 0x80,)) + varuint(value >> 7) if value > 0x7F else bytes((value,))


def utf16(text):
    return (text + "\0").encode("utf-16-le")


def utf8(text):
    return varuint(len(text.encode())) + text.encode()


def sized(content, width=u16):
    return width(len(content)) + content


CLOCK = struct.pack("<8H", 2026, 11, 0, 22, 3, 4, 5, 678) + u64(1000) + u64(10**9) + u32(8)
EVENTS = u16(20) + u16(1) + bytes(16)
WHOLE_EVENTS = u16(20) + u16(0) + bytes(16)
STACKS = u32(1) + u32(2) + u32(0) + u32(16) + u64(1) + u64(2)


def trace_object(name, content, version=2, least=2, place=0, block=True):
    head = b"\x05\x05\x01" + u32(version) + u32(least) + sized(name.encode(), u32) + b"\x06"
    if block:
        head += u32(len(content))
        head += bytes(-(place + len(head)) % 4)
    return head + content + b"\x06"


def trace_4(*blocks, end=b"\x01"):
    data = b"Nettrace" + sized(b"!FastSerialization.1", u32)
    data += trace_object("Trace", CLOCK + u32(4711) + u32(3) + u32(0), 4, 4, block=False)
    for name, content in blocks:
        data += trace_object(name, content, place=len(data))
    return b"\x06" + data + end


def trace_6(*blocks, end=u32(0)):
    whole = [(1, CLOCK + u32(1) + utf8("ProcessId") + utf8("4711")), *blocks]
    return (b"\x06Nettrace" + u32(0) + u32(6) + u32(0)
            + b"".join(u32(kind << 24 | len(content)) + content for kind, content in whole) + end)


def row_4(number, fields):
    row = u32(number) + utf16("Orders") + u32(number) + utf16("Priced") + u64(1) + u32(0) + u32(4) + fields
    return b"\xc0" + varuint(0) + varuint(len(row)) + row


def row_6(number, *fields):
    described = u16(len(fields)) + b"".join(sized(utf8(name) + kind) for name, kind in fields)
    optional = b"\x01\x09\x03" + u64(1) + b"\x04" + utf8("{0}") + b"\x06" + utf8("k") + utf8("v") + b"\x08\x04"
    return sized(varuint(number) + utf8("Orders") + varuint(number) + utf8("Priced") + described + sized(optional))


def described(name, *codes):
    return sized_with_itself(utf16(name) + b"".join(u32(code) for code in codes))


def sized_with_itself(content):
    return u32(len(content) + 4) + content


PLAIN_FIELDS = u32(4) + u32(11) + utf16("a") + u32(1) + u32(1) + u32(18) + utf16("b") + utf16("c") + u32(14) + utf16("d") \
    + u32(3) + utf16("e")
TAGGED = u32(2) + described("a", 19, 9) + described("b", 18)
TAGGED_FIELDS = u32(0) + u32(1) + b"\x01\x09" + sized(TAGGED, u32)[:4] + b"\x02" + TAGGED
DEFINITIONS_4 = [("MetadataBlock", EVENTS + row_4(1, PLAIN_FIELDS) + row_4(2, TAGGED_FIELDS))]
PLAIN_PAYLOAD = u64(7) + utf16("x") + struct.pack("<d", 1.5) + u32(1)
TAGGED_PAYLOAD = u16(2) + u32(1) + u32(2) + utf16("y")
EVENTS_4 = EVENTS + b"\xff\x01\0" + varuint(500) + b"\0" + varuint(600) + b"\x02" + varuint(2000) + bytes(32) \
    + varuint(len(PLAIN_PAYLOAD)) + PLAIN_PAYLOAD + b"\x81\x02\x05" + varuint(len(TAGGED_PAYLOAD)) + TAGGED_PAYLOAD
WHOLE_4 = WHOLE_EVENTS + sized(u32(1 | 1 << 31) + u32(1) + u64(500) + u64(500) + u32(0) + u32(1) + u64(2000) + bytes(32)
                               + u32(len(PLAIN_PAYLOAD)) + PLAIN_PAYLOAD, u32)
POINT_4 = u64(3000) + u32(1) + u64(500) + u32(9)

DEFINITIONS_6 = (3, u16(0) + row_6(1, ("a", b"\x14"), ("b", b"\x15"), ("c", b"\x16\x09" + u16(2)), ("d", b"\x17"),
                                   ("e", b"\x18\x17"), ("f", b"\x19\x04"), ("g", b"\x1a")) + row_6(2))
THREADS = (6, sized(varuint(5) + b"\x01" + utf8("main") + b"\x02\x07\x03\x08\x04" + utf8("k") + utf8("v")))
LABELS = (8, u32(1) + u32(1) + b"\x01" + bytes(16) + b"\x04" + u64(3) + b"\x05" + utf8("k") + utf8("v") + b"\x06" + utf8("n")
          + b"\x03\x07\x01\x08" + u64(1) + b"\x09\x02\x8a\x03")
PAYLOAD_6 = b"\x03\x05" + u32(1) + u32(2) + b"z" + u32(2 << 16 | 5) + u32(2 << 16 | 21) + b"\x01" + b"okx\0"
EVENTS_6 = (2, EVENTS + b"\xdf\x01\0\x05\0\x05\x02" + varuint(2000) + b"\x01" + varuint(len(PAYLOAD_6)) + PAYLOAD_6
            + b"\x81\x02\x05\0")
TRACES = {
    "everything_4": trace_4(*DEFINITIONS_4, ("StackBlock", STACKS), ("EventBlock", EVENTS_4), ("EventBlock", WHOLE_4),
                            ("SPBlock", POINT_4)),
    "everything_6": trace_6(DEFINITIONS_6, THREADS, LABELS, (5, STACKS), EVENTS_6,
                            (4, u64(3000) + u32(3) + u32(1) + b"\x05\x09"), (9, b"from later")),
    "removed_threads": trace_6(THREADS, (7, b"\x05\x09")),
    "bad_block_size": trace_4(end=trace_object("StackBlock", b"")[:-5] + u32(2**31)),
    "bad_counts": trace_4(("SPBlock", u64(0) + u32(2**32 - 1))),
    "bad_nested": trace_4(("MetadataBlock", EVENTS + row_4(1, (u32(1) + u32(1)) * 20))),
    "bad_reference": trace_4(("EventBlock", EVENTS_4)),
}

# What a runtime tells of its heap, one event after the other: see heap_walk_fuzz.cpp, which has a place for each kind.
HEAP_EVENTS = (1, 2, 15, 16, 17, 18, 19, 38, 154)


def heap_event(number, payload, time=5):
    return u8(HEAP_EVENTS.index(number)) + u8(time) + sized(payload)


def bulk(*rows, index=0, count=None):
    return u32(index) + u32(len(rows) if count is None else count) + u16(0) + b"".join(rows)


GC_START = heap_event(1, u32(5) + u32(2) + u32(1) + u32(0) + u16(0) + u64(0), time=1)
GC_END = heap_event(2, u32(5) + u32(2) + u16(0), time=9)
HEAP_TYPES = heap_event(15, u32(2) + u16(0) + u64(7) + u64(9) + u32(0) + u32(0) + b"\x12" + utf16("List`1[A[],B[,]]") + u32(1)
                        + u64(8) + u64(8) + u64(9) + u32(0) + u32(8) + b"\x12" + utf16("A") + u32(0))
OBJECTS = heap_event(18, bulk(u64(0x100) + u64(24) + u64(7) + u64(2), u64(0x200) + u64(2**33) + u64(8) + u64(1)))
REFERENCES = heap_event(19, bulk(u64(0x200) + u32(0), u64(0x300) + u32(0), u64(0x100) + u32(0)))
HEAP_ROOTS = heap_event(16, bulk(u64(0x100) + b"\x02" + u32(1) + u64(1), u64(0x100) + b"\x00" + u32(0) + u64(1))) \
    + heap_event(17, bulk(u64(0x100) + u64(0x200) + u64(1))) \
    + heap_event(38, u32(2) + u64(1) + u16(0) + u64(1) + u64(0x100) + u64(7) + u32(0) + utf16("s_all") + u64(1) + u64(0x200)
                 + u64(10) + u32(1) + utf16("t_one"))
MODULE = heap_event(154, u64(9) + u64(1) + u32(0) + u32(0) + utf16("/app/orders.dll") + utf16(""))
HEAPS = {
    "whole": HEAP_ROOTS + GC_START + OBJECTS + REFERENCES + GC_END + HEAP_TYPES + MODULE,
    "any_order": OBJECTS + GC_END + REFERENCES + HEAP_ROOTS + GC_START,
    "other_walk": heap_event(18, bulk(u64(1) + u64(2) + u64(7) + u64(0), index=3)) + GC_START + OBJECTS + OBJECTS + REFERENCES
    + GC_END,
    "bad_counts": GC_START + b"".join(heap_event(each, u32(0) + u32(2**32 - 1) + bytes(64)) for each in HEAP_EVENTS) + GC_END,
    "bad_references": GC_START + heap_event(18, bulk(u64(1) + u64(1) + u64(7) + u64(2**64 - 1))) + REFERENCES + GC_END,
}

# What answers are made of: see answers_fuzz.cpp, which has a place for each event and each answer.
def answer_event(number, payload, *stack, time=5, thread=7):
    return u8(number) + u8(time) + u8(thread) + u8(len(stack)) + b"".join(map(u64, stack)) + sized(payload)


def f64(value):
    return struct.pack("<d", value)


METER = b"".join(map(utf16, ("", "Orders", "placed", "{order}", "kind=new", "5", "17", "3.5", "0.5=1;0.95=2;x", "4", "9", "why")))
COUNTER = utf16("cpu-usage") + utf16("CPU") + f64(1.5) + struct.pack("<f", 1) + utf16("Interval=1000") + utf16("a:b")
LOGGED = (u32(3) + utf16("Orders") + u32(4) + utf16("Slow") + utf16("took \"long\"") + utf16('{"a":1}')
          + utf16('{"VerboseMessage":"thrown"}'))
THROWN = utf16("System.Exception") + utf16("no") + u64(0) + u32(1) + u16(2)
NAMED = u64(9) + u64(1) + u64(0x1000) + u32(0x100) + u32(6) + u32(0) + utf16("Orders") + utf16("Price") + utf16("int32 ()")


def request_event(what, **said):
    pairs = b"".join(utf16(key) + utf16(value) for key, value in said.items())
    name = f"Microsoft.AspNetCore.Hosting.HttpRequestIn.{what}"
    return answer_event(13, utf16("Microsoft.AspNetCore") + utf16(name) + u16(len(said)) + pairs)


ANSWERS_OF = {
    "incidents": u8(6) + answer_event(7, LOGGED) + answer_event(8, THROWN) + answer_event(14, utf16("GET") + utf16("/a"))
    + request_event("Start", Method="GET", Path="/a/b", Span="1") + request_event("Stop", Path="/a/x/b", Status="404", Span="1", Duration="70000"),
    "counters": u8(0) + b"".join(answer_event(each, METER) for each in range(5)) + answer_event(5, COUNTER)
    + answer_event(6, COUNTER),
    "logs": u8(1) + answer_event(7, LOGGED) + answer_event(7, LOGGED[:9]),
    "exceptions": u8(2) + answer_event(8, THROWN, 0x1001, 0x5000) + answer_event(10, NAMED) + answer_event(8, THROWN),
    "stacks": u8(3) + answer_event(12, u32(2), 0x1001, 0x5000) + answer_event(12, u32(1), 0x1001, thread=8)
    + answer_event(9, NAMED) + answer_event(11, u64(1)),
    "measurements": u8(4) + b"".join(answer_event(each, METER) for each in range(5)) + answer_event(6, COUNTER),
    "measurement": u8(5) + b'{"meter":true,"provider":"a","name":"b","display":"","unit":"","tags":"","kind":3,"value":1,'
    b'"total":null,"sum":2,"interval":1,"quantiles":[0.5,1]}',
}

# What PEM holds: see tls_files_fuzz.cpp.
DER = {"certificate": b"4", "crl": b"5", "key": b"6", "bundle_key": b"7"}


def der_of(name):
    """The last thing in a PEM seed."""
    text = (CORPUS / "tls_files" / name).read_text()
    return base64.b64decode(text.rpartition("-----BEGIN")[2].partition("-----\n")[2].partition("-----END")[0])


def write(directory, seeds):
    (CORPUS / directory).mkdir(exist_ok=True)
    for name, content in seeds.items():
        (CORPUS / directory / f"{name}.bin").write_bytes(content)


# Samples of stacks, behind a byte that says in what pieces they come: see samples_fuzz.cpp.
def zigzag(value):
    return varuint(value << 1 if value >= 0 else (-value << 1) - 1)


def sample_record(kind, *fields):
    content = b"".join(fields)
    return bytes((kind,)) + varuint(len(content)) + content


SAMPLES_START = b"FPS1" + sample_record(1, varuint(99), varuint(0), varuint(1))
SAMPLED = (sample_record(2, varuint(7), utf8("main")) + sample_record(3, varuint(0), zigzag(0x1005))
           + sample_record(3, varuint(1), zigzag(-0x7EFFFFFF)) + sample_record(4, zigzag(10**7), varuint(7), varuint(2))
           + sample_record(4, zigzag(-10**6), varuint(8), varuint(0)) + sample_record(5, varuint(3)))
SAMPLES_NAMES = (sample_record(6, varuint(0x1000), varuint(0x1000), varuint(64), utf8("/app/lib.so"), utf8("abcd"))
                 + sample_record(7, varuint(0x1000), varuint(16), utf8("spin"), utf8(""))
                 + sample_record(8, utf8("a note")))
SAMPLES_END = sample_record(9, varuint(1), utf8(""))
SAMPLES = {
    "whole": b"\xff" + SAMPLES_START + SAMPLED + SAMPLES_NAMES + SAMPLES_END,
    "byte_by_byte": b"\0" + SAMPLES_START + SAMPLED + SAMPLES_NAMES + SAMPLES_END,
    "refused": b"\xff" + b"FPS1" + sample_record(9, varuint(3), utf8("why")),
    "cut_off": b"\x03" + (SAMPLES_START + SAMPLED)[:-1],
    "unknown_kind": b"\xff" + SAMPLES_START + sample_record(77, utf8("later")) + SAMPLES_END,
    "behind_the_end": b"\xff" + SAMPLES_START + SAMPLES_END + SAMPLED,
    "no_such_caller": b"\xff" + SAMPLES_START + sample_record(3, varuint(5), zigzag(1)),
    "endless_range": b"\xff" + SAMPLES_START + sample_record(7, varuint(8), varuint((1 << 64) - 1), utf8("x"), utf8("")),
    "large_record": b"\xff" + SAMPLES_START + b"\x08" + varuint(1 << 20),
    "size_in_many_bytes": b"\x03" + SAMPLES_START + b"\x50\x80\x80\x80\x80\0" + SAMPLES_END,
}


# A process's memory: an ELF file with one function, and a stack. See stack_walk_fuzz.cpp.
def walked(rules, function=b"\x55\x48\x89\xe5\x48\x83\xec\x20" + b"\x90" * 56, stack=()):
    base, index, common, record, code, frames = 0x10000, 0x100, 0x200, 0x240, 0x300, 0x400
    header = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", 3, 62, 1, 0, 64, 0, 0, 64, 56, 2, 0, 0, 0)
    segments = (struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, 0x800, 0x800, 4096)
                + struct.pack("<IIQQQQQQ", 0x6474E550, 4, index, index, index, 20, 20, 4))
    table = struct.pack("<BBBBiIii", 1, 0x1B, 3, 0x3B, common - index - 4, 1, code - index, record - index)
    of_all = struct.pack("<IB", 0, 1) + b"zR\0\x01\x78\x10\x01\x1b" + b"\x0c\x07\x08\x90\x01"
    of_one = struct.pack("<IiIB", record + 4 - common, code - record - 8, len(function), 0) + rules
    memory = bytearray(0x800)
    for place, part in ((0, header), (64, segments), (index, table), (common, struct.pack("<I", len(of_all)) + of_all),
                        (record, struct.pack("<I", len(of_one)) + of_one), (code, function),
                        (frames, b"".join(struct.pack("<Q", value) for value in stack))):
        memory[place:place + len(part)] = part
    return struct.pack("<HH", code + 32, frames) + bytes(memory), base + code


BY_FRAME_POINTER = b"\x41\x0e\x10\x86\x02\x43\x0d\x06"
RETURNS_TO = walked(b"")[1] + 40
WALKS = {
    "no_rules": walked(b"")[0],
    "stack_pointer": walked(b"\x44\x0e\x20", stack=(0, 0, 0, RETURNS_TO, 0, RETURNS_TO))[0],
    "frame_pointer": walked(BY_FRAME_POINTER, stack=(0, 0, 0, 0, 0x10440, RETURNS_TO, 0, 0, 0x10460, RETURNS_TO))[0],
    "remembered": walked(BY_FRAME_POINTER + b"\x0a\x50\x0c\x07\x08\x0b\x2e\x10", stack=(0, RETURNS_TO))[0],
    "expressions": walked(b"\x0f\x02\x77\x08\x10\x0c\x01\x50\x16\x06\x01\x50")[0],
    "undefined": walked(b"\x07\x10")[0],
    "other_ways": walked(b"\x05\x06\x02\x06\x06\x08\x03\x11\x06\x7e\x12\x07\x7f\x13\x7e\x02\x01\x03\x01\0\x04\x01\0\0\0\xc6")[0],
    "no_function": b"\0\0\0\0" + b"\0" * 64,
}


if __name__ == "__main__":
    write("ipc_message", COMMANDS | ANSWERS | BROKEN)
    write("advertise", ADVERTISES)
    write("http2_session", SESSIONS)
    write("resumption", RESUMPTIONS)
    write("agent_json", {name: bytes((kind,)) + text.encode() for name, (kind, text) in AGENT_SAYS.items()})
    write("decompressing_stream", FRAMES)
    write("dump_sink", DUMPS)
    write("tar", ARCHIVES)
    write("api_request", REQUESTS)
    write("tool_arguments", TOOLS)
    write("mirror_manifest", MANIFESTS)
    write("nettrace", TRACES)
    write("samples", SAMPLES)
    write("stack_walk", WALKS)
    write("heap_walk", HEAPS)
    write("answers", ANSWERS_OF)
    write("tls_files", {
        "certificate": DER["certificate"] + der_of("certificates.pem"), "crl": DER["crl"] + der_of("crl.pem"),
        "key": DER["key"] + der_of("key.pem"),
        "bundle_key": DER["bundle_key"] + der_of("bundle.pem")})

"""Dumps, seen from outside."""

import glob
import hashlib
import os
import struct

NOTE_SEGMENT = 4
CORE_FILE = 4


def private_directories(directory):
    """The agent's directories for dumps under way."""
    return glob.glob(f"{directory}/.farport-dump-*")


def digest(path_or_file):
    """The SHA-256 of a file."""
    if isinstance(path_or_file, str):
        with open(path_or_file, "rb") as file:
            return digest(file)
    return hashlib.file_digest(path_or_file, "sha256").hexdigest()


def open_when_there(directory):
    """Opens the dump that a runtime is writing, if there is one yet. What is open stays readable."""
    for path in glob.glob(f"{directory}/.farport-dump-*/dump"):
        try:
            return open(path, "rb")
        except OSError:
            pass
    return None


def _segments(file):
    """The kind, offset and size of each segment of an ELF core file; an error if it is not one."""
    header = file.read(64)
    if header[:5] != b"\x7fELF\x02" or struct.unpack_from("<H", header, 16)[0] != CORE_FILE:
        raise ValueError(f"{file.name} is no ELF core file")
    offset, = struct.unpack_from("<Q", header, 32)
    size, count = struct.unpack_from("<HH", header, 54)
    for i in range(count):
        file.seek(offset + i * size)
        kind, _, start, _, _, length = struct.unpack("<IIQQQQ", file.read(40))
        yield kind, start, length


def core_notes(path):
    """The kinds of notes in an ELF core file; an error if it is not one."""
    with open(path, "rb") as file:
        for kind, start, length in list(_segments(file)):
            if kind == NOTE_SEGMENT:
                file.seek(start)
                return set(_kinds(file.read(length)))
    return set()


def core_size(path):
    """The size that an ELF core file has, if it is whole."""
    with open(path, "rb") as file:
        return max(start + length for _, start, length in _segments(file))


def _kinds(notes):
    at = 0
    while at + 12 <= len(notes):
        name, data, kind = struct.unpack_from("<III", notes, at)
        yield kind
        at += 12 + (name + 3) // 4 * 4 + (data + 3) // 4 * 4


def blocks(path):
    """How much of the disk a file takes, in bytes."""
    return os.stat(path).st_blocks * 512

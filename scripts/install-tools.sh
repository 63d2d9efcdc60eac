#!/usr/bin/env bash
# Installs the missing tools of a step: `model` (a C++ compiler for llama.cpp), `browser` (for UI tests), `disk`
# (for tests of power cuts and disk errors), `sandbox` (the commands of the sandbox's everyday jobs, and
# bubblewrap for level strict), `processors` (emulators of other processors, and a compiler for aarch64), `postgres` (PostgreSQL
# with pgvector, in target/tools/postgres) or `cluster` (that, with HAProxy and PgBouncer, for several servers, and libfaketime for
# their tests).
set -euo pipefail
cd "$(dirname "$0")/.."
PATH="$PATH:/usr/sbin:/sbin" # Debian keeps servers and mkfs there.

missing=()
need() { # command, Debian package
  command -v "$1" >/dev/null 2>&1 || missing+=("$2")
}

case "${1:-}" in
  model)
    need cmake cmake
    need clang clang
    need g++ g++
    # bindgen loads libclang at build time.
    ls /usr/lib/llvm-*/lib/libclang.so* >/dev/null 2>&1 || ls /usr/lib/*/libclang*.so* >/dev/null 2>&1 || missing+=(libclang-dev)
    ;;
  browser)
    # The tests run in the one without windows, the measurements in the whole one.
    need chromium-headless-shell chromium-headless-shell
    need chromium chromium
    fc-list 2>/dev/null | grep -qi 'CJK' || missing+=(fonts-noto-cjk fontconfig)
    need python3 python3
    need git git
    ;;
  processors)
    need qemu-x86_64-static qemu-user-static
    # For the C code of some crates, and the linker. The package of g++ brings the headers of the C library.
    need aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu
    need aarch64-linux-gnu-g++ g++-aarch64-linux-gnu
    # Rust's own library for it; a Rust that rustup did not install has to bring it.
    ! command -v rustup >/dev/null 2>&1 || rustup target add aarch64-unknown-linux-gnu
    ;;
  disk)
    # Power cuts on file systems created by the tests, and failing system calls.
    need mkfs.ext4 e2fsprogs
    need mkfs.xfs xfsprogs
    need strace strace
    ;;
  sandbox)
    need bwrap bubblewrap
    need git git
    need gcc gcc
    need node nodejs
    need sqlite3 sqlite3
    need python3 python3
    need curl curl
    need npm npm
    need rg ripgrep
    # pip and numpy of the system's Python: commands cannot see a Python that a version manager keeps in a home folder.
    [ -x /usr/bin/pip3 ] || missing+=(python3-pip)
    /usr/bin/python3 -c 'import numpy' 2>/dev/null || missing+=(python3-numpy)
    ;;
  postgres | cluster)
    # Debian's PostgreSQL is older and has no pgvector beside it; the package is the same everywhere.
    python3 scripts/get-postgres.py "${CARGO_TARGET_DIR:-target}/tools/postgres"
    if [ "$1" = cluster ]; then
      need haproxy haproxy
      need pgbouncer pgbouncer
      ls /usr/lib/*/faketime/libfaketime.so.1 >/dev/null 2>&1 || missing+=(libfaketime)
    fi
    ;;
  *)
    echo "usage: $0 model|browser|processors|disk|sandbox|postgres|cluster" >&2
    exit 2
    ;;
esac

[ ${#missing[@]} -eq 0 ] && exit 0
if ! command -v apt-get >/dev/null 2>&1; then
  echo "Please install these with your package manager, then try again: ${missing[*]}" >&2
  exit 1
fi
as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo)
echo "Installing ${missing[*]}"
"${as_root[@]}" apt-get update -qq
DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null

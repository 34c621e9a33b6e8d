#!/bin/sh
# Says in one line which of the tools a build needs is missing and how to get it, and where the disk is nearly full. Called by the Makefile.
# usage: check-tools.sh PYTHON MINIMUM_PYTHON MINIMUM_RUST
set -eu
python=$1 python_minimum=$2 rust_minimum=$3

missing() {
  echo "make: $1" >&2
  exit 1
}

# Whether version $1 is at least $2, both major.minor with more parts ignored.
at_least() {
  [ "${1%%.*}" -gt "${2%%.*}" ] && return
  major=${1%%.*} rest=${1#*.}
  [ "$major" -eq "${2%%.*}" ] && [ "${rest%%.*}" -ge "${2#*.}" ]
}

command -v "$python" >/dev/null || missing "$python is missing; install Python $python_minimum or newer"
version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) \
  || missing "$python does not run; install Python $python_minimum or newer"
at_least "$version" "$python_minimum" \
  || missing "$python is Python $version; install $python_minimum or newer, or name one: make PYTHON=python3.12"
"$python" -c 'import venv, ensurepip' 2>/dev/null \
  || missing "$python lacks the module venv; install it (on Debian and Ubuntu the package python3-venv)"

command -v cc >/dev/null \
  || missing "the C linker cc is missing; install gcc or clang (on Debian and Ubuntu the package gcc)"

for tool in cargo rustc; do
  command -v "$tool" >/dev/null \
    || missing "$tool is missing; install Rust $rust_minimum or newer (see rust-lang.org/tools/install)"
done
version=$(rustc --version 2>/dev/null | cut -d ' ' -f 2)
[ -n "$version" ] || missing "rustc does not run; install a toolchain (rustup default stable)"
at_least "$version" "$rust_minimum" \
  || missing "rustc is $version; install Rust $rust_minimum or newer (rustup update stable)"

# A linker on a full disk dies of a bus error, which tells nobody why.
free=$(df -Pk . 2>/dev/null | awk 'NR == 2 { print int($4 / 1024) }')
[ "${free:-9999}" -ge 2500 ] || echo "make: only $free MB of disk are free here; building takes 1 GB, the tests 1.5 GB more" >&2

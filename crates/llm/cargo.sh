#!/bin/sh
# Runs cargo with llama.cpp compiled for the processor of this machine:
#   sh crates/llm/cargo.sh build --release -p miniclaw-llm
#
# Plain cargo works too and compiles for AVX2. On a processor with AMX, this script halves the time to evaluate a
# prompt. The build script of llama.cpp does not track these variables: after moving to another processor, run
# `cargo clean --release -p llama-cpp-sys-2` first. At start, the binary reports if it does not match the processor.
set -eu

has() { grep -qw "$1" /proc/cpuinfo 2>/dev/null; }

if has amx_int8 && has amx_tile && has avx512_vnni && has avx512vbmi && has avx512_bf16; then
    export GGML_AVX512=ON GGML_AVX512_VBMI=ON GGML_AVX512_VNNI=ON GGML_AVX512_BF16=ON
    export GGML_AMX_TILE=ON GGML_AMX_INT8=ON
    # GCC 12 declares that _tile_loadconfig reads 8 bytes, but it reads 64. The optimiser therefore removes the
    # stores of the other bytes, and the first tile instruction raises an illegal-instruction fault
    export CXXFLAGS="${CXXFLAGS:-} -fno-tree-dse -fno-dse"
fi
# ggml treats this variable as a request for a portable build and leaves out AVX2
unset SOURCE_DATE_EPOCH
exec cargo "$@"

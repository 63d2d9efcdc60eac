#!/bin/sh
# Runs cargo with llama.cpp compiled for the processor of this machine:
#   sh crates/llm/cargo.sh build --release -p miniclaw-llm
#
# Plain cargo works too and compiles for AVX2. Where the processor has AMX, this halves the time to read a prompt.
# The build script of llama.cpp notes these variables only once: after moving to another processor, run
# `cargo clean --release -p llama-cpp-sys-2` first. The binary itself says at start when it does not fit.
set -eu

has() { grep -qw "$1" /proc/cpuinfo 2>/dev/null; }

if has amx_int8 && has amx_tile && has avx512_vnni && has avx512vbmi && has avx512_bf16; then
    export GGML_AVX512=ON GGML_AVX512_VBMI=ON GGML_AVX512_VNNI=ON GGML_AVX512_BF16=ON
    export GGML_AMX_TILE=ON GGML_AMX_INT8=ON
    # GCC 12's _tile_loadconfig tells the optimiser of 8 of the 64 bytes it reads, so the others are never stored
    # and the first tile instruction is illegal
    export CXXFLAGS="${CXXFLAGS:-} -fno-tree-dse -fno-dse"
fi
# ggml takes this variable for a portable build and leaves out AVX2
unset SOURCE_DATE_EPOCH
exec cargo "$@"

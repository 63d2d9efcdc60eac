//! Packs the relocations of the program: it is 2 MB smaller on disk and in memory. The dynamic loader has to understand
//! the packed form, as glibc does since 2.36 (2022); elsewhere the program is linked as usual.
//! A program that is linked so says on a system with an older glibc that it needs `GLIBC_ABI_DT_RELR`. With
//! `MINICLAW_OLD_GLIBC` set it is linked as usual, to run there too (`make release`).

use std::process::Command;

const OLDEST_GLIBC: (u32, u32) = (2, 36);

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=MINICLAW_OLD_GLIBC");
    if std::env::var_os("MINICLAW_OLD_GLIBC").is_some() {
        return;
    }
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|set| set == value);
    let gnu_linux = is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu");
    let native = std::env::var("HOST").ok() == std::env::var("TARGET").ok();
    if gnu_linux && native && glibc().is_some_and(|version| version >= OLDEST_GLIBC) {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// Returns the version of this machine's glibc; `None` if it cannot be told.
fn glibc() -> Option<(u32, u32)> {
    let output = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let printed = String::from_utf8(output.stdout).ok()?;
    let (major, minor) = printed.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

//! How many cases the long loops try. `make thorough` tries every case; a usual run tries a fixed sample of them.

/// Returns whether every case is tried.
pub fn is_thorough() -> bool {
    std::env::var_os("MINICLAW_THOROUGH").is_some()
}

/// Returns the distance between the cases that are tried: 1 if every case is, and otherwise `usual`.
pub fn step(usual: usize) -> usize {
    if is_thorough() { 1 } else { usual }
}

//! Memory that the program freed and its allocator still holds.

/// Gives it back to the system, where the allocator can. What building an index or loading a model took for a moment would
/// otherwise count as taken for as long as the server runs. Takes some milliseconds; not for every question.
pub fn give_back() {
    // SAFETY: it takes a number, may be called by any thread at any time, and touches only what nobody holds.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    unsafe {
        libc::malloc_trim(0);
    }
}

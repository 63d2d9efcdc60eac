//! Returns memory that the program has freed from its allocator to the system.

/// Gives it back to the system, where the allocator can. What building an index or loading a model took for a moment would
/// otherwise count as taken for as long as the server runs. Takes some milliseconds; not for every question.
pub fn give_back() {
    // SAFETY: it takes a number, may be called by any thread at any time, and touches only what nobody holds.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Lets all threads share two pools of memory: with one for each of many threads, what one has freed is of no use to the
/// others, and counts as taken. To be called before there are threads.
pub fn share_pools() {
    // SAFETY: it takes two numbers and sets a parameter of the allocator.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 2);
    }
}

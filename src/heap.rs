//! Returns memory that the program has freed from its allocator to the operating system.

/// Returns freed memory to the operating system, if the allocator can. Memory that was used briefly to build an index
/// or load a model would otherwise count as used as long as the server runs. Takes some milliseconds; do not call it
/// for every question.
pub fn trim_heap() {
    // SAFETY: it takes a number, may be called from any thread at any time, and touches only free memory.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Makes all threads share two allocator arenas: with one arena for each of many threads, memory that one thread has
/// freed cannot be used by the others, and counts as used. Call it before any thread starts.
pub fn limit_arenas() {
    // SAFETY: it takes two numbers and sets a parameter of the allocator.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 2);
    }
}

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

/// Size from which the allocator gets memory directly from the operating system, and returns it as soon as it is freed.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const LARGE: libc::c_int = 4 << 20;

/// Configures the allocator to keep less memory that is not used. Call it before any thread starts.
///
/// All threads share two arenas: with one arena for each of many threads, memory that one thread has freed cannot be used by
/// the others, and counts as used. Large blocks are not in an arena, where a small block next to one keeps all of it: the
/// 19 MiB of a sign-in stayed up to a dozen times.
pub fn configure() {
    // SAFETY: they take two numbers and set a parameter of the allocator.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 2);
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE);
        // With a fixed threshold above, the allocator no longer adapts this one, which would be 128 KiB: memory that each
        // question needs would be returned and requested again.
        libc::mallopt(libc::M_TRIM_THRESHOLD, 2 * LARGE);
    }
}

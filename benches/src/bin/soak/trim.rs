//! The return of free memory to the OS.

/// Returns free memory to the OS, where the allocator can do so (glibc). Each of its arenas keeps
/// the most that its threads have used at once, which grows for many minutes.
pub(crate) fn trim() {
    #[cfg(target_env = "gnu")]
    {
        #[expect(unsafe_code, reason = "a function of glibc")]
        // SAFETY: the declaration is that of `malloc.h`, and any argument is valid.
        unsafe {
            unsafe extern "C" {
                fn malloc_trim(pad: usize) -> std::ffi::c_int;
            }
            let _ = malloc_trim(0);
        }
    }
}

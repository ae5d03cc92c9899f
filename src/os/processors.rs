//! How many processors the process may run on.

/// The size of the calling thread's affinity mask, at least 1.
#[must_use]
pub fn count() -> usize {
    let mut mask = [0u64; 16];
    // SAFETY: the mask is writable for the size given. The system call itself returns the bytes it wrote, or an error on
    // machines with more processors than the mask has bits, for which the mask stays empty.
    unsafe { libc::syscall(libc::SYS_sched_getaffinity, 0, size_of_val(&mask), &raw mut mask) };
    mask.iter().map(|word| word.count_ones() as usize).sum::<usize>().max(1)
}

//! Address space and pages from the OS. Lengths and addresses are in bytes, multiples of the OS page.
//!
//! A refusal is a value, never an abort. `errno` may change: callers that must keep it use [`super::errno::kept`].

use crate::config::bins::OS_PAGE;
use core::ptr::{null_mut, without_provenance_mut};

/// Maps `len` bytes of zeroed memory; null if the OS refuses.
#[must_use]
pub fn map(len: usize) -> *mut u8 {
    map_as(null_mut(), len, libc::PROT_READ | libc::PROT_WRITE, 0)
}

/// Maps `len` bytes of zeroed memory at exactly `address` unless something is mapped there; null if that fails.
#[must_use]
pub fn map_at(address: usize, len: usize) -> *mut u8 {
    let wanted = without_provenance_mut(address);
    let got = map_as(wanted, len, libc::PROT_READ | libc::PROT_WRITE, libc::MAP_FIXED_NOREPLACE);
    if !got.is_null() && got != wanted {
        // A kernel older than the flag takes the address as a hint.
        unmap(got, len);
        return null_mut();
    }
    got
}

fn map_as(address: *mut u8, len: usize, protection: i32, flags: i32) -> *mut u8 {
    // SAFETY: without MAP_FIXED the kernel never replaces a mapping that exists, so no memory in use is touched; with it,
    // it replaces the caller's own.
    let got =
        unsafe { libc::mmap(address.cast(), len, protection, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | flags, -1, 0) };
    if got == libc::MAP_FAILED { null_mut() } else { got.cast() }
}

/// Maps `len` bytes of zeroed memory at a multiple of `align`; null if the OS refuses. The address space around it
/// that had to be asked for is given back.
#[must_use]
pub fn map_aligned(len: usize, align: usize) -> *mut u8 {
    // The kernel hands out neighbouring ranges, so what follows an aligned range is often aligned.
    let lucky = map(len);
    if lucky.is_null() || lucky.addr().is_multiple_of(align) {
        return lucky;
    }
    unmap(lucky, len);
    let aligned = reserve_aligned(len, align);
    // Only now is the memory charged to the process, and only what is used.
    if aligned.is_null() || make_writable(aligned, len) {
        return aligned;
    }
    unmap(aligned, len);
    map_within(len, align, libc::PROT_READ | libc::PROT_WRITE)
}

/// Makes a range writable that was mapped without write access. False if the OS refuses.
pub fn make_writable(start: *mut u8, len: usize) -> bool {
    // SAFETY: callers pass ranges that they own.
    unsafe { libc::mprotect(start.cast(), len, libc::PROT_READ | libc::PROT_WRITE) == 0 }
}

/// Maps zeroed memory over a range of the caller's own that holds nothing. False if the OS refuses.
pub fn map_over(start: *mut u8, len: usize) -> bool {
    map_as(start, len, libc::PROT_READ | libc::PROT_WRITE, libc::MAP_NORESERVE | libc::MAP_FIXED) == start
}

/// Reserves `len` bytes of address space, without access, at a multiple of `align`; null if the OS refuses.
#[must_use]
pub fn reserve_aligned(len: usize, align: usize) -> *mut u8 {
    map_within(len, align, libc::PROT_NONE)
}

/// Maps more than `len` bytes and gives back what lies before and behind the aligned range in it.
fn map_within(len: usize, align: usize, protection: i32) -> *mut u8 {
    let Some(room) = len.checked_add(align - OS_PAGE) else { return null_mut() };
    let start = map_as(null_mut(), room, protection, 0);
    if start.is_null() {
        return start;
    }
    let before = start.addr().wrapping_neg() & (align - 1);
    let aligned = start.wrapping_add(before);
    if before > 0 {
        unmap(start, before);
    }
    if room - before > len {
        unmap(aligned.wrapping_add(len), room - before - len);
    }
    aligned
}

/// Gives a range of address space back. Returns false if the OS refuses (which leaves the range mapped).
pub fn unmap(start: *mut u8, len: usize) -> bool {
    // SAFETY: callers pass ranges that they own and that nobody uses any more.
    unsafe { libc::munmap(start.cast(), len) == 0 }
}

/// Gives the memory of a range back and keeps the addresses. True if the range reads as zeroes from now on; false if
/// the OS refused (locked pages, a filter), which leaves its contents as they were.
pub fn purge(start: *mut u8, len: usize) -> bool {
    // SAFETY: callers pass ranges that they own and whose contents nobody needs.
    unsafe { libc::madvise(start.cast(), len, libc::MADV_DONTNEED) == 0 }
}

/// Bytes of a huge page.
pub const HUGE_PAGE: usize = 2 << 20;

/// Asks for huge pages in a range of the caller's own. A kernel without them refuses, which changes nothing.
pub fn advise_huge_pages(start: *mut u8, len: usize) {
    // SAFETY: the advice leaves contents and addresses as they are.
    unsafe { libc::madvise(start.cast(), len, libc::MADV_HUGEPAGE) };
}

/// Gives back the OS pages that lie wholly between `size` and `usable` bytes into a block, if they are worth a system call.
/// What is in them is lost.
///
/// # Safety
/// The block is the caller's, of `usable` bytes.
pub unsafe fn purge_tail(block: *mut u8, size: usize, usable: usize) {
    const WORTH: usize = 4 * OS_PAGE;
    let start = (block.addr() + size).next_multiple_of(OS_PAGE);
    let end = (block.addr() + usable) & !(OS_PAGE - 1);
    if start + WORTH <= end {
        // A refusal costs memory and nothing else.
        purge(block.with_addr(start), end - start);
    }
}

/// What became of an attempt to resize a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resized {
    /// It has the new length.
    Done,
    /// There is no room for it there; elsewhere there may be.
    NoRoom,
    /// The kernel cannot resize it at all: parts of it were given properties of their own, or a filter forbids it.
    Never,
}

/// Grows or shrinks a mapping where it stands.
pub fn resize_in_place(start: *mut u8, old: usize, new: usize) -> Resized {
    // SAFETY: the caller owns the range; without MREMAP_MAYMOVE it stays where it is.
    let got = unsafe { libc::mremap(start.cast(), old, new, 0) };
    if got != libc::MAP_FAILED {
        Resized::Done
    } else if super::errno::get() == libc::ENOMEM {
        Resized::NoRoom
    } else {
        Resized::Never
    }
}

/// Moves a mapping of `old` bytes, for which [`resize_in_place`] found no room, onto the reserved range `to` of `new`
/// bytes, which it replaces. False if the OS refuses; `to` is then lost, since the kernel may have unmapped it.
pub fn move_to(start: *mut u8, old: usize, to: *mut u8, new: usize) -> bool {
    // SAFETY: the caller owns both ranges, and `to` holds nothing: it was reserved for this call.
    let got = unsafe {
        libc::mremap(start.cast(), old, new, libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED, to.cast::<libc::c_void>())
    };
    got != libc::MAP_FAILED
}

//! The page map (hakmem's RegionIdBox): what a pointer is, in one load.
//!
//! One byte per 64 KiB of the 47-bit address space holds the code of the page there: a bin's number, or one of
//! the codes below; 0 for what is not ours. The 2 GiB of address space are reserved without memory, readable from the
//! first instruction on, so the hot path needs no check of any kind before it looks.
//!
//! **Reserved by the dynamic linker.** The map's base is the result of an indirect function, which the linker calls
//! while it relocates this image, so even a `free` from an initialiser that runs before ours finds the map. The word
//! that holds the base, in the global offset table, is read-only from then on.
//!
//! **Beyond.** An address that no process has (above 47 bits) lies outside the map, and so does, in limited mode, one
//! outside every window: freeing it is a segmentation fault, as it is with any allocator that looks at the pointer.
//!
//! **Windows.** The reservation is read-only (so that it is not charged against the commit limit) and made writable a
//! window at a time, where the heap gets memory. Where the address space is limited and the whole map does not fit,
//! only windows exist: those that a pointer can be expected in, at the same distance from the same base.

use super::magazine::TABLE;
use crate::config::bins::{GRANULE, GRANULE_SHIFT, MAX_BINS};
use crate::os::lock::{Lock, Locked};
use crate::os::memory;
use core::arch::{asm, global_asm};
use core::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// What is not ours.
pub const FOREIGN: u8 = 0;
/// First page of a span.
pub const SPAN: u8 = MAX_BINS as u8;
/// First page of a huge block.
pub const HUGE: u8 = MAX_BINS as u8 + 1;
/// In a segment, but no block starts there: its header, free pages, the rest of spans.
pub const INSIDE: u8 = MAX_BINS as u8 + 2;
/// The rest of a huge block.
pub const HUGE_INSIDE: u8 = MAX_BINS as u8 + 3;
/// A freed huge block that is kept for reuse.
pub const HUGE_IDLE: u8 = MAX_BINS as u8 + 4;
/// Where a huge block or a segment was: unmapped, or somebody else's by now.
pub const GONE: u8 = MAX_BINS as u8 + 5;

const _: () = assert!((GONE as usize) < TABLE);

/// Bytes of the map: one per page of the 47-bit address space.
const MAP_BYTES: usize = 1 << (47 - GRANULE_SHIFT);
/// Bytes of the map that become writable at a time; they describe 64 GiB.
const WINDOW: usize = 1 << 20;
/// Number of windows.
const WINDOWS: usize = MAP_BYTES / WINDOW;
/// Where the map lies if it cannot be reserved whole: an address far from everything the kernel places.
const LIMITED_BASE: usize = 0x2000_0000_0000;

// The indirect function. The dynamic linker calls it to fill the function's entry in the global offset table, where the
// hot path reads the result; nobody calls it as a function.
global_asm!(
    ".pushsection .text.hakmem_page_map,\"ax\",@progbits",
    ".globl hakmem_page_map",
    ".hidden hakmem_page_map",
    ".type hakmem_page_map,@gnu_indirect_function",
    "hakmem_page_map: jmp {reserve}",
    ".popsection",
    reserve = sym reserve,
);

/// Which windows are writable, one bit each; in limited mode, which exist.
static WRITABLE: [AtomicU64; WINDOWS / 64] = [const { AtomicU64::new(0) }; WINDOWS / 64];

/// Held while a window is made writable.
static CHANGING: Locked<()> = Locked::new(());

/// The lock for the fork hooks.
pub fn raw() -> &'static Lock {
    CHANGING.raw()
}

/// Address of the map.
#[inline(always)]
fn base() -> *mut u8 {
    let base;
    // SAFETY: reads a word that the dynamic linker filled before any code of this image could run and that is
    // read-only since, hence `nomem`.
    unsafe {
        asm!("mov {0}, qword ptr [rip + hakmem_page_map@GOTPCREL]", out(reg) base,
             options(pure, nomem, nostack, preserves_flags));
    }
    base
}

/// The byte of the page that `address` lies in.
#[inline(always)]
fn entry(address: usize) -> *mut AtomicU8 {
    base().wrapping_add(address >> GRANULE_SHIFT).cast()
}

/// The code of the page that `address` lies in: always below [`TABLE`].
///
/// One load, ordered like a relaxed atomic one: whoever holds a block got it through something that orders the
/// page's entry before it. (An `AtomicU8` says the same and costs an instruction more: the compiler extends the loaded
/// byte twice.)
#[inline(always)]
#[must_use]
pub fn get(address: usize) -> usize {
    let code: usize;
    // SAFETY: the map covers every address that a process can have (see the module's head for those it cannot).
    unsafe {
        asm!("movzx {code:e}, byte ptr [{base} + {page}]",
             code = lateout(reg) code, base = in(reg) base(), page = in(reg) address >> GRANULE_SHIFT,
             options(pure, readonly, nostack, preserves_flags));
    }
    code
}

/// Sets the code of `granules` times 64 KiB from `address` on. The window must be writable ([`make_writable`]).
///
/// # Safety
/// The caller owns the memory, and `code` is one of the map's codes.
pub unsafe fn set(address: usize, granules: usize, code: u8) {
    for granule in 0..granules {
        // SAFETY: `make_writable` succeeded for the owner of this memory. Relaxed: as in `get`.
        unsafe { &*entry(address + granule * GRANULE) }.store(code, Ordering::Relaxed);
    }
}

/// Changes the code of the page at `address` from `old` to `new`; false if it was another. The window must be writable.
pub fn replace(address: usize, old: u8, new: u8) -> bool {
    // SAFETY: the map covers every address a process can have. AcqRel: who changes an entry owns what it describes.
    unsafe { &*entry(address) }.compare_exchange(old, new, Ordering::AcqRel, Ordering::Relaxed).is_ok()
}

/// Makes the map's bytes for `len` bytes from `address` on writable. False if the OS refuses, or for addresses
/// beyond the map.
#[must_use]
pub fn make_writable(address: usize, len: usize) -> bool {
    let Some(end) = address.checked_add(len).filter(|end| end >> GRANULE_SHIFT <= MAP_BYTES) else { return false };
    let first = address >> GRANULE_SHIFT;
    let last = (end - 1) >> GRANULE_SHIFT;
    (first / WINDOW..=last / WINDOW).all(window_writable)
}

fn window_writable(window: usize) -> bool {
    let Some(word) = WRITABLE.get(window / 64) else { return false };
    let bit = 1 << (window % 64);
    // Acquire: pairs with the release below, after which the window can be written.
    if word.load(Ordering::Acquire) & bit != 0 {
        return true;
    }
    // Rare: once for 64 GiB of addresses. The one lock that is held while the OS is asked; nobody else takes it.
    let _one_at_a_time = CHANGING.lock();
    if word.load(Ordering::Acquire) & bit != 0 {
        return true;
    }
    let start = base().wrapping_add(window * WINDOW);
    let writable = if limited() {
        !memory::map_at(start.addr(), WINDOW).is_null()
    } else {
        // Nothing was written there yet, so if the one is refused the other will do, and readers see zeroes throughout.
        memory::make_writable(start, WINDOW) || memory::map_over(start, WINDOW)
    };
    if writable {
        word.fetch_or(bit, Ordering::Release);
    }
    writable
}

fn limited() -> bool {
    base().addr() == LIMITED_BASE
}

/// Reserves the map and returns its address. Called by the dynamic linker while it relocates this image: other
/// objects may not be relocated yet, so this makes system calls of its own, and touches libc (which is) and WRITABLE.
extern "C" fn reserve() -> usize {
    let whole = raw_mmap(0, MAP_BYTES, libc::PROT_READ, libc::MAP_NORESERVE);
    if whole < usize::MAX - 4096 {
        return whole;
    }
    // The address space is limited. Windows that pointers can be expected in: the executable without PIE and the
    // brk area behind it; the stack; this image, hence its neighbours in the mmap area; the executable with PIE.
    let here = reserve as *const () as usize;
    let stack = &raw const whole as usize;
    // SAFETY: libc, which this image depends on, is relocated before it, and getauxval only reads.
    let executable = unsafe { libc::getauxval(libc::AT_PHDR) } as usize;
    for address in [0, stack, here, executable] {
        for window in around(address >> GRANULE_SHIFT) {
            let start = LIMITED_BASE + window * WINDOW;
            let flags = libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
            if raw_mmap(start, WINDOW, libc::PROT_READ | libc::PROT_WRITE, flags) == start {
                // Relaxed: no other thread exists that could look.
                WRITABLE[window / 64 % (WINDOWS / 64)].fetch_or(1 << (window % 64), Ordering::Relaxed);
            }
        }
    }
    LIMITED_BASE
}

/// The window of an entry and the one nearest to it.
fn around(entry: usize) -> [usize; 2] {
    let window = entry / WINDOW;
    let near = if entry % WINDOW >= WINDOW / 2 { window + 1 } else { window.saturating_sub(1) };
    [window, near]
}

fn raw_mmap(address: usize, len: usize, protection: i32, flags: i32) -> usize {
    let result;
    // SAFETY: a system call with the kernel's register convention; without MAP_FIXED it replaces no mapping.
    unsafe {
        asm!("syscall", inlateout("rax") libc::SYS_mmap as usize => result,
             in("rdi") address, in("rsi") len, in("rdx") protection as usize,
             in("r10") (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | flags) as usize, in("r8") -1isize, in("r9") 0usize,
             lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    result
}

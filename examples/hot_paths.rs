//! The hot paths of Rust's interface as functions with names, to be disassembled: what a `Box` or a `Vec` pays when the layout
//! is known where it is freed, and when it is not.
//!
//! `cargo build --release --example hot_paths`, then for example
//! `objdump -d --no-show-raw-insn --disassemble=sized_free_of_100 target/release/examples/hot_paths`;
//! `cargo test --test hot_paths` does so and counts.

use hakmem::Mixed;
use std::alloc::{GlobalAlloc, Layout};

static MIXED: Mixed = Mixed::new();

/// `dealloc` of a layout that is known when the program is compiled: `Box<[u8; 100]>`.
///
/// # Safety
/// `block` has 100 bytes, and is [`MIXED`]'s.
#[unsafe(no_mangle)]
#[inline(never)]
unsafe extern "C" fn sized_free_of_100(block: *mut u8) {
    // SAFETY: by the caller's promise.
    unsafe { MIXED.dealloc(block, Layout::new::<[u8; 100]>()) }
}

/// `dealloc` of a size that is known when the program runs: `Vec<u8>`.
///
/// # Safety
/// `block` has `size` bytes, and is [`MIXED`]'s.
#[unsafe(no_mangle)]
#[inline(never)]
unsafe extern "C" fn sized_free(block: *mut u8, size: usize) {
    // SAFETY: by the caller's promise.
    unsafe { MIXED.dealloc(block, Layout::from_size_align_unchecked(size, 1)) }
}

/// A cache line.
#[repr(align(64))]
struct Line {
    _bytes: [u8; 64],
}

/// `dealloc` of an alignment beyond 16, known when the program is compiled.
///
/// # Safety
/// `block` holds a [`Line`], and is [`MIXED`]'s.
#[unsafe(no_mangle)]
#[inline(never)]
unsafe extern "C" fn sized_free_of_line(block: *mut u8) {
    // SAFETY: by the caller's promise.
    unsafe { MIXED.dealloc(block, Layout::new::<Line>()) }
}

/// `alloc` of a layout that is known when the program is compiled.
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn allocate_100() -> *mut u8 {
    // SAFETY: the layout's size is not 0.
    unsafe { MIXED.alloc(Layout::new::<[u8; 100]>()) }
}

fn main() {
    let block = allocate_100();
    // SAFETY: each block is freed once, with its size.
    unsafe {
        sized_free_of_100(block);
        sized_free(allocate_100(), 100);
        sized_free_of_line(MIXED.alloc(Layout::new::<Line>()));
    }
    println!("three kinds of freeing");
}

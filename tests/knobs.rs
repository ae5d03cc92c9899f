//! What each knob does, with and without it in one process: a preset and its variant, each with a heap of its own.
//!
//! One test at a time in this file: they read the process's resident memory.

use hakmem::config::{Knob, Route, Routes, Words};
use std::alloc::{GlobalAlloc, Layout};

hakmem::define_front! {
    /// Mixed with freed memory kept.
    Kept in kept = Words::new(Routes::all(Route::Legacy)).with(Knob::FreeKeep)
}

hakmem::define_front! {
    /// The same without the knob again.
    Batch in batch = Words::new(Routes::all(Route::Legacy)).with(Knob::FreeKeep).without(Knob::FreeKeep)
}

/// Resident memory of the process, in bytes.
fn resident() -> i64 {
    let text = std::fs::read_to_string("/proc/self/statm").expect("statm can be read");
    text.split(' ').nth(1).and_then(|pages| pages.parse::<i64>().ok()).expect("its second field is a number") * 4096
}

/// Allocates and frees 64 MiB in small blocks, spans and huge blocks; returns how much of it stays resident.
fn left_after_a_burst(front: &impl GlobalAlloc) -> i64 {
    let mut blocks = Vec::with_capacity(70_000);
    let before = resident();
    for (count, size) in [(64 << 10, 512), (160, 100 << 10), (8, 2 << 20)] {
        let layout = Layout::from_size_align(size, 16).expect("a layout");
        for _ in 0..count {
            // SAFETY: the layout's size is not 0, and the block is written within it.
            unsafe {
                let block = front.alloc(layout);
                assert!(!block.is_null());
                block.write_bytes(1, size);
                blocks.push((block, layout));
            }
        }
    }
    for (block, layout) in blocks {
        // SAFETY: every block is freed once, with its layout.
        unsafe { front.dealloc(block, layout) };
    }
    resident() - before
}

#[test]
fn free_keep_keeps_what_batch_gives_back() {
    let (kept, given_back) = (left_after_a_burst(&Kept::new()), left_after_a_burst(&Batch::new()));
    println!("kept {kept}, batch {given_back} bytes");
    assert!(kept > 56 << 20, "kept only {kept} bytes");
    assert!(given_back < 12 << 20, "batch left {given_back} bytes");
}

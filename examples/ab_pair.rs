//! An A/B pair in one binary: a preset, and beside it the same preset with a knob more or less, each with a heap of its own.
//!
//! `cargo run --release --example ab_pair` runs one workload on both, in turn, and prints the ratio of their times.

use hakmem::Mixed;
use hakmem::config::Knob;
use std::alloc::{GlobalAlloc, Layout};
use std::time::{Duration, Instant};

// The one line that names the other side.
hakmem::define_front!(Table in table = Mixed::WORDS.with(Knob::FrontV3Lut));

/// A working set of 400 blocks of 16 to 1024 bytes, one of them replaced at a time.
fn run(front: &impl GlobalAlloc) -> Duration {
    let layout = |size| Layout::from_size_align(size, 16).expect("a layout");
    let mut live = [(std::ptr::null_mut::<u8>(), 16); 400];
    let mut number = 1u64;
    let start = Instant::now();
    for _ in 0..2_000_000 {
        number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let place = &mut live[(number >> 33) as usize % 400];
        let size = 16 + (number >> 43) as usize % 1009;
        // SAFETY: each block is freed once, with the layout that it was allocated with.
        unsafe {
            if !place.0.is_null() {
                front.dealloc(place.0, layout(place.1));
            }
            *place = (front.alloc(layout(size)), size);
        }
    }
    let time = start.elapsed();
    for (block, size) in live.into_iter().filter(|(block, _)| !block.is_null()) {
        // SAFETY: as above.
        unsafe { front.dealloc(block, layout(size)) };
    }
    time
}

fn main() {
    let (a, b) = (Mixed::new(), Table::new());
    let mut ratios: Vec<f64> = (0..11).map(|_| run(&a).as_secs_f64() / run(&b).as_secs_f64()).collect();
    ratios.sort_unstable_by(f64::total_cmp);
    println!("speed of Mixed with front-v3-lut to that of Mixed: {:.3} (median of {})", ratios[5], ratios.len());
}

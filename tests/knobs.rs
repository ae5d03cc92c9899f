//! What each knob does, with and without it in one process: a preset and its variants, each with a heap of its own.
//!
//! Resident memory is asked for by address, and each test has fronts of its own, so the tests may run side by side. Knobs that change the code of a path and
//! nothing that a program sees are in `flips.rs`.

use hakmem::config::Knob;
use hakmem::{Mixed, Path};
use std::alloc::{GlobalAlloc, Layout};
use std::fs;
use std::process::{Command, Stdio};
use std::thread;

hakmem::define_front!(Batch in batch = Mixed::WORDS);
hakmem::define_front!(Parts in parts = Mixed::WORDS);
hakmem::define_front!(OneByOne in one_by_one = Mixed::WORDS);
hakmem::define_front!(Kept in kept = Mixed::WORDS.with(Knob::FreeKeep));
hakmem::define_front!(Eager in eager = Mixed::WORDS.with(Knob::DisableBatch));
hakmem::define_front!(Whole in whole = Mixed::WORDS.with(Knob::MadviseStrict));
hakmem::define_front!(Thp in thp = Mixed::WORDS.with(Knob::ThpAuto));
hakmem::define_front!(NoThp in no_thp = Mixed::WORDS.with(Knob::ThpAuto).without(Knob::ThpAuto));
hakmem::define_front!(Counted in counted = Mixed::WORDS.with(Knob::HeapStats).with(Knob::FreePathStats));
hakmem::define_front!(Paths in paths = Mixed::WORDS.with(Knob::FreePathStats));
hakmem::define_front!(Blocks in blocks = Mixed::WORDS.with(Knob::HeapStats));
hakmem::define_front!(Dumped in dumped = Mixed::WORDS.with(Knob::HeapStats).with(Knob::HeapStatsDump));

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;
const OS_PAGE: usize = 4096;

fn layout(size: usize) -> Layout {
    Layout::from_size_align(size, 16).expect("a layout")
}

/// A block that was written from end to end.
fn written(front: &impl GlobalAlloc, size: usize) -> *mut u8 {
    // SAFETY: the layout's size is not 0, and the block is written within it.
    unsafe {
        let block = front.alloc(layout(size));
        assert!(!block.is_null());
        block.write_bytes(1, size);
        block
    }
}

/// Frees blocks of `size` bytes.
fn free(front: &impl GlobalAlloc, blocks: impl IntoIterator<Item = *mut u8>, size: usize) {
    for block in blocks {
        // SAFETY: the tests free each block once, with its size.
        unsafe { front.dealloc(block, layout(size)) };
    }
}

/// Bytes of the OS pages that lie wholly in the range and have memory.
fn resident(start: *mut u8, size: usize) -> usize {
    let (first, end) = (start.addr().next_multiple_of(OS_PAGE), (start.addr() + size) / OS_PAGE * OS_PAGE);
    let mut pages = vec![0u8; (end - first) / OS_PAGE];
    // SAFETY: the vector has a byte for each OS page of the range. What is not mapped is an error, and then nothing is
    // resident.
    let mapped = unsafe { libc::mincore(start.with_addr(first).cast(), end - first, pages.as_mut_ptr()) } == 0;
    if mapped { pages.iter().filter(|&&page| page & 1 == 1).count() * OS_PAGE } else { 0 }
}

/// Allocates and frees 64 MiB in small blocks, spans and huge blocks; returns how much of it stays resident.
fn left_after_a_burst(front: &impl GlobalAlloc) -> usize {
    let sizes = [(64 * KIB, 512), (160, 100 * KIB), (8, 2 * MIB)];
    let bursts = sizes.map(|(count, size)| (size, (0..count).map(|_| written(front, size)).collect::<Vec<_>>()));
    for (size, blocks) in &bursts {
        free(front, blocks.iter().copied(), *size);
    }
    // Whole blocks of the burst, and of small ones the OS page that they begin in.
    let large = |size: usize, blocks: &[*mut u8]| blocks.iter().map(|&block| resident(block, size)).sum::<usize>();
    bursts
        .iter()
        .map(|(size, blocks)| match size {
            512 => blocks.iter().step_by(8).map(|block| resident(block.map_addr(|a| a & !4095), OS_PAGE)).sum(),
            _ => large(*size, blocks),
        })
        .sum()
}

#[test]
fn free_keep_keeps_what_batch_gives_back() {
    let (kept, batch) = (left_after_a_burst(&Kept::new()), left_after_a_burst(&Batch::new()));
    println!("kept {kept}, batch {batch} bytes");
    assert!(kept > 56 * MIB, "kept only {kept} bytes");
    assert!(batch < 32 * MIB, "batch left {batch} bytes");
}

#[test]
fn without_batches_memory_goes_back_at_once() {
    for size in [300 * KIB, 3 * MIB] {
        let (batch, eager) = (written(&OneByOne::new(), size), written(&Eager::new(), size));
        free(&OneByOne::new(), [batch], size);
        free(&Eager::new(), [eager], size);
        // Whatever else this test binary's other tests do: nothing they free can be less than this.
        assert_eq!(resident(eager, size), 0, "{size} bytes stay");
        if size < 512 * KIB {
            assert!(resident(batch, size) > size - 2 * OS_PAGE, "batch gives {size} bytes back");
        }
    }
}

#[test]
fn madvise_strict_gives_back_whole_segments_only() {
    // Spans of 128 KiB, fifteen a segment: every other one is freed, then the rest.
    let size = 128 * KIB;
    let [kept, given] = [true, false].map(|strict| {
        let take = |_| if strict { written(&Whole::new(), size) } else { written(&Parts::new(), size) };
        let blocks: Vec<_> = (0..300).map(take).collect();
        let give = |blocks: Vec<*mut u8>| {
            if strict { free(&Whole::new(), blocks, size) } else { free(&Parts::new(), blocks, size) }
        };
        let half: Vec<_> = blocks.iter().copied().step_by(2).collect();
        give(half.clone());
        let left = half.iter().map(|&block| resident(block, size)).sum::<usize>();
        give(blocks.iter().copied().skip(1).step_by(2).collect());
        let rest = blocks.iter().map(|&block| resident(block, size)).sum::<usize>();
        assert!(rest < 8 * MIB, "{rest} bytes stay when every segment is free");
        left
    });
    assert_eq!(kept, 150 * size, "strict gives parts of segments back");
    assert!(given < 150 * size * 3 / 4, "batch keeps {given} bytes");
}

/// Whether the mapping that `address` lies in asks for huge pages.
fn asks_for_huge_pages(address: *mut u8) -> bool {
    let text = fs::read_to_string("/proc/self/smaps").expect("smaps can be read");
    let mut inside = false;
    for line in text.lines() {
        let range = line.split(' ').next().and_then(|range| range.split_once('-'));
        if let Some((start, end)) = range
            && let (Ok(start), Ok(end)) = (usize::from_str_radix(start, 16), usize::from_str_radix(end, 16))
        {
            inside = (start..end).contains(&address.addr());
        } else if inside && let Some(flags) = line.strip_prefix("VmFlags:") {
            return flags.split_whitespace().any(|flag| flag == "hg");
        }
    }
    panic!("no mapping holds {address:?}");
}

#[test]
fn thp_auto_asks_for_huge_pages_where_a_heap_is_large() {
    if fs::metadata("/sys/kernel/mm/transparent_hugepage").is_err() {
        return println!("skipped: the kernel has no transparent huge pages");
    }
    let (size, thp, plain) = (64 * KIB, Thp::new(), NoThp::new());
    let [many, none]: [Vec<_>; 2] =
        [(0..400).map(|_| written(&thp, size)).collect(), (0..400).map(|_| written(&plain, size)).collect()];
    assert!(!asks_for_huge_pages(many[0]), "a small heap does");
    assert!(asks_for_huge_pages(many[399]), "a large heap does not");
    assert!(!none.iter().any(|&block| asks_for_huge_pages(block)));
    let (huge, other) = (written(&thp, 5 * MIB), written(&plain, 5 * MIB));
    assert!(asks_for_huge_pages(huge) && !asks_for_huge_pages(other));
    assert_eq!(huge.addr() % (2 * MIB), 0, "a huge block that no huge page fits");
    free(&thp, many, size);
    free(&plain, none, size);
    free(&thp, [huge], 5 * MIB);
    free(&plain, [other], 5 * MIB);
}

#[test]
fn statistics_count_every_call_of_every_thread() {
    assert_eq!(Mixed::statistics(), None);
    let work = || {
        let front = Counted::new();
        let small: Vec<_> = (0..1000).map(|_| written(&front, 500)).collect();
        let large: Vec<_> = (0..10).map(|_| written(&front, 5000)).collect();
        let (span, huge) = (written(&front, 100 * KIB), written(&front, 2 * MIB));
        free(&front, small, 500);
        free(&front, large[..7].to_vec(), 5000);
        free(&front, [span], 100 * KIB);
        free(&front, [huge], 2 * MIB);
        // SAFETY: null may be freed.
        unsafe { Counted::deallocate(std::ptr::null_mut()) };
    };
    // A thread that is gone, and this one.
    thread::spawn(work).join().expect("the thread ends");
    work();
    let counted = Counted::statistics().expect("this front counts");
    let of = |size: usize| {
        let bin = hakmem::config::bins::Tables::of(&Counted::WORDS.geometry());
        let bin = bin.shapes.iter().position(|shape| shape.size as usize == size).expect("a bin");
        (counted.allocated[bin], counted.freed[bin])
    };
    assert_eq!(of(512), (2000, 2000));
    assert_eq!(of(5120), (20, 14));
    assert_eq!((counted.allocated[0], counted.freed[0]), (4, 4));
    let path = |path| counted.path(path);
    assert_eq!(path(Path::AllocateHit) + path(Path::AllocateRefill), 2020);
    assert_eq!(path(Path::FreeHit) + path(Path::FreeFlush), 2014);
    assert!(path(Path::AllocateHit) > path(Path::AllocateRefill) && path(Path::AllocateRefill) > 0);
    assert!(path(Path::FreeHit) > path(Path::FreeFlush) && path(Path::FreeFlush) > 0);
    assert_eq!([path(Path::AllocateSpan), path(Path::AllocateHuge)], [2, 2]);
    assert_eq!([path(Path::FreeSpan), path(Path::FreeHuge), path(Path::FreeNull)], [2, 2, 2]);
    assert_eq!([path(Path::AllocateWithoutHeap), path(Path::FreeWithoutHeap), path(Path::FreeForeign)], [0; 3]);
    assert_eq!(counted.allocated.iter().sum::<u64>(), 2024);
}

#[test]
fn each_kind_of_statistics_counts_its_own() {
    free(&Paths::new(), [written(&Paths::new(), 100)], 100);
    let counted = Paths::statistics().expect("this front counts");
    assert_eq!(counted.allocated, [0; 85]);
    assert_eq!(counted.path(Path::AllocateRefill) + counted.path(Path::AllocateHit), 1);
    free(&Blocks::new(), [written(&Blocks::new(), 100)], 100);
    let counted = Blocks::statistics().expect("this front counts");
    assert_eq!(counted.paths, [0; 12]);
    assert_eq!(counted.allocated.iter().sum::<u64>(), 1);
}

/// Allocates from a front that prints its counters. Run as a process of its own by the tests below.
#[test]
fn dumping_process() {
    let Some(how) = std::env::var_os("HAKMEM_TEST_DUMP") else { return };
    let blocks: Vec<_> = (0..100).map(|_| written(&Dumped::new(), 200)).collect();
    if how == "signal" {
        // SAFETY: the signal goes to this thread, and is handled before the call returns.
        assert_eq!(unsafe { libc::raise(libc::SIGUSR2) }, 0);
    }
    free(&Dumped::new(), blocks[..40].to_vec(), 200);
}

/// What the test above prints as errors, run so in a process of its own, and that process's number.
fn dumped(how: Option<&str>) -> (String, u32) {
    let mut command = Command::new(std::env::current_exe().expect("this test has a path"));
    command.args(["--exact", "dumping_process", "--test-threads", "1"]).stdout(Stdio::null()).stderr(Stdio::piped());
    if let Some(how) = how {
        command.env("HAKMEM_TEST_DUMP", how);
    }
    let child = command.spawn().expect("this test runs again");
    let process = child.id();
    let output = child.wait_with_output().expect("the child ends");
    assert!(output.status.success());
    (String::from_utf8(output.stderr).expect("text"), process)
}

#[test]
fn heap_stats_dump_prints_when_the_process_ends() {
    let (text, process) = dumped(Some("end"));
    assert_eq!(text, format!("hakmem[{process}]: C5 208 bytes: 100 allocated, 40 freed\n"));
    assert_eq!(dumped(None).0, "");
}

#[test]
fn heap_stats_dump_prints_on_a_signal() {
    let (text, process) = dumped(Some("signal"));
    let line = |freed| format!("hakmem[{process}]: C5 208 bytes: 100 allocated, {freed} freed\n");
    assert_eq!(text, line(0) + &line(40));
}

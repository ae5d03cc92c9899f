//! Misuse of the heap ends the process with SIGABRT and one line on stderr that names the pointer: never with SIGSEGV,
//! never with another allocator's message, and never in silence.
//!
//! Pointers into blocks of a bin and blocks of a bin that are freed twice may be found as late as when their magazine
//! is flushed; spans and huge blocks are looked at when they are freed.

mod support;

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use support::{Compiled, compile, library};

const SIGABRT: i32 = 6;

const INVALID_FREE: &str = "free(): invalid pointer";
const DOUBLE_FREE: &str = "free(): double free of";
const INVALID_REALLOC: &str = "realloc(): invalid pointer";

const IN_BINS: &[usize] = &[16, 100, 1000, 5000, 20_000];
const SPAN: usize = 100_000;
const HUGE: usize = 3 << 20;
const BEYOND_BINS: &[usize] = &[SPAN, HUGE];

/// What words before a pointer can look like that libc never made: zeroes, text, the size word of a small chunk.
const BEFORE: &[&str] = &["zeroes", "text", "chunk"];

/// The programs of `tests/c/life/misuse.c`; None if there is no compiler.
struct Misuse(Compiled);

impl Misuse {
    fn compile() -> Option<Self> {
        compile("life/misuse", &[]).map(Self)
    }

    /// Runs the program `case`; tells what is wrong with how it ended, if anything.
    fn run(&self, case: &str, size: usize, detail: &str, line: &str) -> Option<String> {
        self.run_as(Command::new(&self.0.path), case, size, detail, line)
    }

    /// [`run`](Self::run) with a command that starts the program when it is given the program's arguments.
    fn run_as(&self, mut command: Command, case: &str, size: usize, detail: &str, line: &str) -> Option<String> {
        let output = command
            .args([case, &size.to_string(), detail])
            .env("LD_PRELOAD", library())
            .stdin(Stdio::null())
            .output()
            .expect("the compiled program starts");
        let pointer = String::from_utf8_lossy(&output.stdout).into_owned();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        let wanted = format!("hakmem: {line} {pointer}");
        let right = output.status.signal() == Some(SIGABRT) && pointer.starts_with("0x") && stderr == wanted;
        (!right).then(|| {
            let (status, stderr) = (output.status, stderr.trim_end());
            format!("{case} {size} {detail}: {status}, stderr {stderr:?}, wanted {:?}", wanted.trim_end())
        })
    }
}

/// Runs `case` with every one of `sizes` and `details`: each run has to end with `line`.
#[track_caller]
fn ends_with(line: &str, case: &str, sizes: &[usize], details: &[&str], what: &str) {
    let Some(misuse) = Misuse::compile() else { return };
    let runs = sizes.iter().flat_map(|&size| details.iter().map(move |detail| (size, detail)));
    let wrong: Vec<_> = runs.filter_map(|(size, detail)| misuse.run(case, size, detail, line)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    ends(line, what);
}

/// Says that the misuse `what` was seen to end with `line`.
fn ends(line: &str, what: &str) {
    println!("case: Misuse | {what} | hakmem: {line} 0x..., SIGABRT | ok");
}

// ---- pointers that no allocator made ----

#[test]
fn free_of_a_static_buffer() {
    ends_with(INVALID_FREE, "free_static", &[0], BEFORE, "free of a static buffer");
}

#[test]
fn free_of_a_stack_buffer() {
    ends_with(INVALID_FREE, "free_stack", &[0], BEFORE, "free of a buffer on the main thread's stack");
}

#[test]
fn free_of_a_stack_buffer_of_another_thread() {
    ends_with(INVALID_FREE, "free_stack_in_thread", &[0], BEFORE, "free of a buffer on another thread's stack");
}

#[test]
fn realloc_of_a_static_buffer() {
    ends_with(INVALID_REALLOC, "realloc_static", &[0], BEFORE, "realloc of a static buffer");
}

#[test]
fn realloc_of_a_stack_buffer() {
    ends_with(INVALID_REALLOC, "realloc_stack", &[0], BEFORE, "realloc of a buffer on the stack");
}

#[test]
fn free_of_an_address_that_is_not_mapped() {
    ends_with(INVALID_FREE, "free_unmapped", &[0, 8, 64 << 10], &["-"], "free of an address that is not mapped");
}

// ---- pointers into blocks ----

#[test]
fn free_of_a_pointer_into_a_small_block() {
    let what = "free of a pointer into a block of at most 1000 bytes";
    ends_with(INVALID_FREE, "free_interior", &[100, 1000], &["1", "8", "16"], what);
    // Sixteen bytes into a block of sixteen bytes the next one starts.
    ends_with(INVALID_FREE, "free_interior", &[16], &["1", "8"], "free of a pointer into a block of 16 bytes");
}

#[test]
fn free_of_a_pointer_into_a_block_of_a_large_bin() {
    let what = "free of a pointer into a block of 5 or 20 KB";
    ends_with(INVALID_FREE, "free_interior", &[5000, 20_000], &["1", "8", "16", "4096"], what);
}

#[test]
fn free_of_a_pointer_into_a_span() {
    let what = "free of a pointer into a block of 100 KB, also at its second page";
    ends_with(INVALID_FREE, "free_interior", &[SPAN], &["1", "8", "16", "4096", "65536"], what);
}

#[test]
fn free_of_a_pointer_into_a_huge_block() {
    let what = "free of a pointer into a block of 3 MiB, also at multiples of 64 KiB and 2 MiB";
    let details = ["1", "8", "16", "4096", "65536", "131072", "2097152", "3080192"];
    ends_with(INVALID_FREE, "free_interior", &[HUGE], &details, what);
}

#[test]
fn realloc_of_a_pointer_into_a_block_of_a_bin() {
    let what = "realloc of a pointer into a block of at most 20 KB, to a larger size";
    ends_with(INVALID_REALLOC, "realloc_interior", IN_BINS, &["1", "8"], what);
}

#[test]
fn realloc_in_place_of_a_pointer_into_a_block_of_a_bin() {
    let what = "realloc of a pointer into a block of at most 20 KB, to a size that fits where it is";
    ends_with(INVALID_REALLOC, "realloc_interior_in_place", IN_BINS, &["1", "8"], what);
}

#[test]
fn realloc_of_a_pointer_into_a_span_or_huge_block() {
    let details = ["1", "8", "16", "65536"];
    let what = "realloc of a pointer into a block of 100 KB or 3 MiB, to a larger size";
    ends_with(INVALID_REALLOC, "realloc_interior", BEYOND_BINS, &details, what);
    let what = "realloc of a pointer into a block of 100 KB or 3 MiB, to a smaller size";
    ends_with(INVALID_REALLOC, "realloc_interior_in_place", BEYOND_BINS, &details, what);
}

// ---- blocks that are free already ----

#[test]
fn double_free_is_found_when_the_magazine_is_flushed_by_malloc_trim() {
    ends_with(DOUBLE_FREE, "free_twice", IN_BINS, &["trim"], "double free, then malloc_trim");
}

#[test]
fn double_free_is_found_when_the_magazine_is_flushed_by_further_frees() {
    ends_with(DOUBLE_FREE, "free_twice", IN_BINS, &["frees"], "double free, then many frees of that size");
}

#[test]
fn double_free_is_found_when_the_magazine_is_flushed_by_allocations_and_frees() {
    let what = "double free, then many allocations and frees of that size";
    ends_with(DOUBLE_FREE, "free_twice", IN_BINS, &["allocs"], what);
}

#[test]
fn double_free_of_spans_and_huge_blocks_is_found_at_once() {
    ends_with(DOUBLE_FREE, "free_twice", BEYOND_BINS, &["-"], "double free of 100 KB or 3 MiB: found at once");
}

#[test]
fn double_free_is_found_when_the_thread_ends() {
    ends_with(DOUBLE_FREE, "free_twice_before_exit", IN_BINS, &["-"], "double free at the end of a thread");
    ends_with(DOUBLE_FREE, "free_twice_before_exit", BEYOND_BINS, &["-"], "double free of a large block in a thread");
}

#[test]
fn double_free_after_many_other_frees() {
    let details = ["frees", "trim"];
    ends_with(DOUBLE_FREE, "free_twice_far_apart", IN_BINS, &details, "double free, 100 others in between");
    ends_with(DOUBLE_FREE, "free_twice_far_apart", &[SPAN], &details, "double free of a span, 100 others in between");
    let what = "double free of a huge block after 100 others: given back to the OS by then";
    ends_with(DOUBLE_FREE, "free_twice_far_apart", &[HUGE], &details, what);
}

#[test]
fn double_free_of_a_huge_block_above_another_mapping() {
    let what = "double free of a huge block that is unmapped by now, with another mapping right below";
    ends_with(DOUBLE_FREE, "free_twice_above_a_mapping", &[HUGE], &["-"], what);
}

#[test]
fn realloc_of_a_free_block_of_a_bin() {
    ends_with(DOUBLE_FREE, "realloc_freed", IN_BINS, &["-"], "realloc of a freed block: found by the flush");
}

#[test]
fn realloc_of_a_free_span_or_huge_block() {
    ends_with(INVALID_REALLOC, "realloc_freed", BEYOND_BINS, &["-"], "realloc of a freed span or huge block");
}

#[test]
fn double_free_by_two_threads_one_after_the_other() {
    ends_with(DOUBLE_FREE, "free_in_two_threads", IN_BINS, &["-"], "double free by two threads, in turn");
    let what = "double free of a large block by two threads, in turn";
    ends_with(DOUBLE_FREE, "free_in_two_threads", BEYOND_BINS, &["-"], what);
}

#[test]
fn double_free_by_two_threads_at_once() {
    ends_with(DOUBLE_FREE, "free_in_two_threads_at_once", IN_BINS, &["-"], "double free by two threads at once");
    let what = "double free of a large block by two threads at once";
    ends_with(DOUBLE_FREE, "free_in_two_threads_at_once", BEYOND_BINS, &["-"], what);
}

#[test]
fn double_free_of_what_an_ended_thread_allocated_and_freed() {
    let case = "free_again_after_the_owner_ended";
    ends_with(DOUBLE_FREE, case, IN_BINS, &["-"], "double free of what an ended thread allocated and freed");
    ends_with(DOUBLE_FREE, case, BEYOND_BINS, &["-"], "the same with a large block");
}

#[test]
fn double_free_of_what_an_ended_thread_freed() {
    let case = "free_again_after_the_other_ended";
    ends_with(DOUBLE_FREE, case, IN_BINS, &["-"], "double free of what an ended thread had freed");
    ends_with(DOUBLE_FREE, case, BEYOND_BINS, &["-"], "double free of a large block that an ended thread had freed");
}

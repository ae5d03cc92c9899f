//! What programs do to an allocator in a long life: foreign pointers, threads and forks without end, signals, dlopen,
//! limits of every kind; and whether memory comes back.
//!
//! Every case broke some allocator. The programs lie in `tests/c/life`.

mod support;

use object::{Object, ObjectSymbol};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::{PoisonError, RwLock};
use support::{Compiled, compile, installed, library, passes, skip};

/// Held exclusively by the test that changes what memory the whole system may have, and shared by all others.
static SYSTEM: RwLock<()> = RwLock::new(());

const CXX: &[&str] = &["-std=c++17"];

/// A group of cases, as the documentation lists them.
struct Area(&'static str);

const FOREIGN: Area = Area("Foreign pointers");
const THREADS: Area = Area("Threads");
const FORK: Area = Area("Fork");
const SIGNALS: Area = Area("Signals");
const LOADING: Area = Area("Loading");
const LIMITS: Area = Area("Limits");
const MEMORY: Area = Area("Memory");

impl Area {
    /// Says that `case` was seen to work, and what hakmem does about it.
    fn holds(&self, case: &str, does: &str) {
        println!("case: {} | {case} | {does} | ok", self.0);
    }

    /// Compiles `tests/c/life/NAME` with `flags` and runs it under hakmem: it has to find nothing wrong.
    #[track_caller]
    fn check(&self, name: &str, flags: &[&str], case: &str, does: &str) {
        let _shared = SYSTEM.read().unwrap_or_else(PoisonError::into_inner);
        let Some(program) = compile_life(name, flags) else { return };
        let output = program.run();
        passes(&output);
        if output.status.success() {
            self.holds(case, does);
        }
    }
}

fn compile_life(name: &str, flags: &[&str]) -> Option<Compiled> {
    compile(&format!("life/{name}"), flags)
}

/// The flag that tells a program where `library` is.
fn library_flag(library: &Path) -> String {
    format!("-DLIBRARY=\"{}\"", library.display())
}

/// The middle one of the first figures that the program prints in several runs under `libraries`; the other figures
/// have to be `rest` each time.
#[track_caller]
fn median(program: &Compiled, libraries: &[&Path], rest: &[i64]) -> i64 {
    let run = || {
        let output = program.run_preloading(libraries);
        output.assert_success();
        let mut figures = output.stdout.lines().map(|line| line.parse::<i64>().expect("a figure"));
        let first = figures.next().expect("at least one figure");
        assert_eq!(figures.collect::<Vec<_>>(), rest);
        first
    };
    let mut figures: Vec<_> = (0..9).map(|_| run()).collect();
    figures.sort_unstable();
    figures[figures.len() / 2]
}

// ---- foreign pointers ----

#[test]
fn blocks_of_libc_are_freed_resized_and_measured() {
    let case = "blocks of libc's own malloc, with and without mappings of their own, from any thread";
    FOREIGN.check("foreign", &[], case, "free, realloc and malloc_usable_size hand them to libc");
}

#[test]
fn blocks_of_a_library_with_its_own_view_of_malloc_are_welcome() {
    let flags = ["-shared", "-fPIC"];
    let Some(other) = compile_life("deepbind_library", &flags) else { return };
    let case = "a library opened with RTLD_DEEPBIND, it and the program freeing each other's blocks";
    FOREIGN.check("deepbind", &[&library_flag(&other.path)], case, "dlopen drops the flag; all blocks are hakmem's");
}

#[test]
fn an_executable_with_a_malloc_family_of_its_own_keeps_it() {
    let case = "an executable exports its own malloc family, used by strdup, getline, qsort, fopen, new and delete";
    FOREIGN.check("own_family", &["-std=c++17", "-rdynamic"], case, "every call and every block is the executable's");
}

// ---- threads ----

#[test]
fn destructors_free_after_the_heap_of_their_thread_is_gone() {
    let case = "destructors of keys made before and after the first malloc free, allocate and set the keys again";
    THREADS.check("late_free", &[], case, "served block by block once the thread's heap is given up");
}

#[test]
fn destructors_of_thread_local_objects_free_and_allocate() {
    let case = "destructors of thread_local C++ objects free blocks of other threads and allocate";
    THREADS.check("thread_local", CXX, case, "served like any other call");
}

#[test]
fn twenty_thousand_threads_with_destructors_leave_nothing_behind() {
    let case = "20,000 threads whose destructors free, allocate and set their keys again";
    THREADS.check("many_threads", &[], case, "resident memory and mappings stay flat after the first 1,000");
}

#[test]
fn twenty_thousand_threads_that_only_free_leave_nothing_behind() {
    let does = "resident memory and mappings stay flat after the first 1,000";
    THREADS.check("many_threads", &["-DONLY_FREE"], "20,000 threads whose only call is one free", does);
}

#[test]
fn threads_with_the_smallest_stacks_allocate() {
    let case = "threads with stacks of PTHREAD_STACK_MIN";
    THREADS.check("small_stacks", &[], case, "every slow path fits");
}

#[test]
fn sixteen_threads_allocate_and_one_frees() {
    let case = "sixteen threads allocate 16 to 1024 bytes and one frees, through bounded queues";
    THREADS.check("one_frees", &[], case, "resident memory stays within 1.5 times the most live bytes and 16 MiB");
}

// ---- fork ----

#[test]
fn a_thousand_forks_while_four_threads_allocate() {
    let case = "fork while four other threads allocate; the child uses every size and starts a thread";
    FORK.check("fork", &[], case, "works in the child at once, a thousand times over");
}

// ---- signals ----

#[test]
fn a_signal_handler_allocates_and_frees() {
    let case = "a SIGPROF handler allocates and frees up to 20 blocks of different bins, 1,000 times a second and more";
    SIGNALS.check("signals", &[], case, "no deadlock, no corruption");
}

#[test]
fn nested_signal_handlers_allocate_and_free() {
    let case = "the same with handlers that interrupt handlers";
    SIGNALS.check("signals", &["-DNESTED"], case, "no deadlock, no corruption");
}

// ---- loading ----

#[test]
fn twenty_threads_open_use_and_close_the_library() {
    let _shared = SYSTEM.read().unwrap_or_else(PoisonError::into_inner);
    let Some(program) = compile_life("reopen", &[&library_flag(library())]) else { return };
    passes(&program.run_preloading(&[]));
    LOADING
        .holds("twenty threads dlopen, use and dlclose the library, over and over", "it stays; blocks outlive dlclose");
}

#[test]
fn nothing_is_opened_at_the_start_and_nothing_in_proc_later() {
    let Some(program) = compile_life("start", &["-DWITHOUT_HAKMEM"]) else { return };
    if !installed("strace") {
        return;
    }
    let trace = program.path.with_extension("trace");
    let opened = |preload: &Path| -> BTreeSet<String> {
        let status = Command::new("strace")
            .args(["-f", "-qq", "-e", "trace=open,openat,openat2", "-o"])
            .arg(&trace)
            .arg("-E")
            .arg(format!("LD_PRELOAD={}", preload.display()))
            .arg(&program.path)
            .status()
            .expect("strace starts");
        assert!(status.success(), "{status}");
        let text = fs::read_to_string(&trace).expect("strace writes its output");
        text.lines().filter_map(|line| line.split('"').nth(1)).map(str::to_owned).collect()
    };
    let (with, without) = (opened(library()), opened(Path::new("")));
    assert!(without.iter().any(|path| path.contains("libc.so")), "strace saw nothing: {without:?}");
    let more: Vec<_> = with.difference(&without).collect();
    assert_eq!(more, [&library().display().to_string()]);
    LOADING.holds("what the library opens at the start and later", "nothing: no file, nothing in /proc");
}

#[test]
fn the_environment_is_not_read() {
    let data = fs::read(library()).expect("the library was just built");
    let file = object::File::parse(&*data).expect("an ELF file");
    let wanted: Vec<_> = file.dynamic_symbols().filter(|symbol| symbol.is_undefined()).collect();
    assert!(wanted.len() > 5, "the library imports nothing: this test does not see its imports");
    for symbol in wanted {
        let name = symbol.name().expect("names are text");
        assert!(!name.contains("env") && !name.contains("argv"), "{name}");
    }
    LOADING.holds("environment variables", "none is read");
}

// ---- limits ----

fn limited(mib: usize) {
    let case = format!("RLIMIT_AS of {mib} MiB, set before the start");
    let does = "starts; at the limit NULL with ENOMEM; what is freed can be had again in any size";
    LIMITS.check("address_limit", &[&format!("-DLIMIT_MIB={mib}")], &case, does);
}

#[test]
fn address_space_of_64_mib() {
    limited(64);
}

#[test]
fn address_space_of_48_mib() {
    limited(48);
}

#[test]
fn address_space_of_32_mib() {
    limited(32);
}

#[test]
fn address_space_of_24_mib() {
    limited(24);
}

#[test]
fn all_mappings_in_use() {
    let case = "vm.max_map_count reached";
    LIMITS.check("map_count", &[], case, "NULL with ENOMEM or success, frees work, all is well once there is room");
}

fn refused(call: &str) {
    let case = format!("{call} answered with EPERM from some point on");
    LIMITS.check("refused", &[&format!("-DREFUSED=SYS_{call}")], &case, "goes on; contents and errno stay");
}

#[test]
fn madvise_refused() {
    refused("madvise");
}

#[test]
fn munmap_refused() {
    refused("munmap");
}

#[test]
fn mremap_refused() {
    refused("mremap");
}

#[test]
fn mprotect_refused_after_the_start() {
    refused("mprotect");
}

/// Puts a setting of the system back when dropped.
struct Setting {
    path: &'static str,
    before: String,
}

impl Drop for Setting {
    fn drop(&mut self) {
        fs::write(self.path, &self.before).expect("what was written can be written again");
    }
}

/// A line `FIELD: number kB` of `/proc/meminfo`.
fn meminfo(field: &str) -> u64 {
    let text = fs::read_to_string("/proc/meminfo").expect("Linux has it");
    let line = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':')).expect("the field exists");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

#[test]
fn overcommit_forbidden() {
    let _exclusive = SYSTEM.write().unwrap_or_else(PoisonError::into_inner);
    let Some(program) = compile_life("overcommit", &[]) else { return };
    library();
    // The rest of the system has to live with the setting for as long as the program runs.
    if meminfo("Committed_AS") * 2 > meminfo("CommitLimit") {
        return skip("too much memory is committed for vm.overcommit_memory=2");
    }
    let path = "/proc/sys/vm/overcommit_memory";
    let before = fs::read_to_string(path).expect("Linux has it");
    if fs::write(path, "2").is_err() {
        return skip("vm.overcommit_memory cannot be written");
    }
    let setting = Setting { path, before };
    let output = program.run();
    drop(setting);
    passes(&output);
    LIMITS.holds("vm.overcommit_memory=2", "works; NULL with ENOMEM for more than there is");
}

// ---- memory ----

fn comes_back(order: &str, flags: &[&str], does: &str) {
    let case = format!("400,000 blocks of 16 to 1024 bytes freed, {}", order.to_lowercase().replace('_', " "));
    let define = format!("-DORDER={order}");
    MEMORY.check("comes_back", &[&[define.as_str()], flags].concat(), &case, does);
}

const WITHOUT_A_CALL: &str = "less than 10 % stays a second later, without a further call";
const WITH_TRIM: &str = "less than 10 % stays after malloc_trim";

#[test]
fn memory_comes_back_when_freed_in_allocation_order() {
    comes_back("ALLOCATION_ORDER", &[], WITHOUT_A_CALL);
}

#[test]
fn memory_comes_back_when_freed_in_reverse() {
    comes_back("REVERSE", &[], WITHOUT_A_CALL);
}

#[test]
fn memory_comes_back_when_freed_at_random() {
    comes_back("RANDOM", &[], WITHOUT_A_CALL);
}

#[test]
fn memory_of_a_small_heap_comes_back_too() {
    let case = "40,000 blocks of 16 to 1024 bytes freed, random";
    MEMORY.check("comes_back", &["-DORDER=RANDOM", "-DLITTLE"], case, "less than half stays, without a further call");
}

#[test]
fn memory_comes_back_with_malloc_trim() {
    for order in ["ALLOCATION_ORDER", "REVERSE", "RANDOM"] {
        comes_back(order, &["-DTRIM"], WITH_TRIM);
    }
}

#[test]
fn an_empty_program_costs_at_most_300_kib() {
    let _shared = SYSTEM.read().unwrap_or_else(PoisonError::into_inner);
    let Some(program) = compile_life("empty", &[]) else { return };
    let (with, without) = (median(&program, &[library()], &[1]), median(&program, &[], &[0]));
    assert!(with - without <= 300 << 10, "{with} bytes under hakmem, {without} under libc");
    MEMORY.holds("an empty program", "at most 300 KiB more than under libc");
}

#[test]
fn a_thread_that_allocates_a_little_costs_at_most_16_kib() {
    let _shared = SYSTEM.read().unwrap_or_else(PoisonError::into_inner);
    let (Some(little), Some(idle)) = (compile_life("thread_cost", &["-DALLOCATE"]), compile_life("thread_cost", &[]))
    else {
        return;
    };
    let (with, without) = (median(&little, &[library()], &[]), median(&idle, &[], &[]));
    assert!(with - without <= 16 << 10, "{with} bytes a thread, {without} for one under libc that does not allocate");
    MEMORY.holds("each of 200 threads with five small blocks", "at most 16 KiB more than an idle one under libc");
}

const HALVED: &str = "60,000 blocks of 16 KiB, every second one freed";

#[test]
fn memory_between_live_blocks_comes_back() {
    let does = "60 % of what was freed comes back, in few mappings; the rest is intact and the room used again";
    MEMORY.check("fragments", &[], HALVED, does);
}

#[test]
fn memory_between_live_blocks_comes_back_with_malloc_trim() {
    let does = "80 % of what was freed comes back after malloc_trim, in few mappings";
    MEMORY.check("fragments", &["-DTRIM"], HALVED, does);
}

fn again(count: usize, size: usize, blocks: &str) {
    let flags = [format!("-DCOUNT={count}"), format!("-DSIZE={size}UL")];
    let case = format!("100 MiB in {blocks}, allocated and freed in turn");
    MEMORY.check("again", &[&flags[0], &flags[1]], &case, "faults in less than a quarter of it each time");
}

#[test]
fn one_huge_block_again_and_again() {
    again(1, 100 << 20, "one block");
}

#[test]
fn a_hundred_blocks_of_1_mib_again_and_again() {
    again(100, 1 << 20, "100 blocks of 1 MiB");
}

#[test]
fn two_hundred_thousand_blocks_of_512_bytes_again_and_again() {
    again(200_000, 512, "200,000 blocks of 512 bytes");
}

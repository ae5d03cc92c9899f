//! The C ABI of `libhakmem.so`, as C and C++ programs see it under LD_PRELOAD: what C, POSIX and glibc's manual say about
//! every function, and what hakmem promises beyond that.

mod support;

use std::process::Command;
use support::{check, compile, compile_with, installed, library, passes};

// ---- blocks ----

#[test]
fn blocks_are_aligned_to_16_bytes_and_disjoint() {
    check("alignment", &[]);
}

#[test]
fn size_zero_gives_a_block_and_frees_in_realloc() {
    check("zero_sizes", &[]);
}

#[test]
fn impossible_requests_are_refused_and_change_nothing() {
    check("refusals", &[]);
}

#[test]
fn every_alignment_up_to_4_gib_is_honoured_without_waste() {
    check("alignments", &[]);
}

#[test]
fn usable_size_is_what_it_says() {
    check("usable_size", &[]);
}

#[test]
fn fortified_programs_may_use_all_of_the_usable_size() {
    let options = ["-O2", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=3"];
    if let Some(program) = compile_with("fortify", &options, &[]) {
        passes(&program.run());
    }
}

#[test]
fn realloc_keeps_contents_between_all_regions() {
    check("realloc_walk", &[]);
}

#[test]
fn growing_huge_blocks_never_need_their_memory_twice() {
    check("realloc_huge", &[]);
}

#[test]
fn shrinking_in_place_gives_memory_back() {
    check("shrink", &[]);
}

// ---- errno ----

#[test]
fn success_and_free_leave_errno_alone() {
    check("errno_kept", &[]);
}

#[test]
fn a_refused_purge_goes_unnoticed() {
    check("purge_refused", &[]);
}

#[test]
fn a_refused_munmap_goes_unnoticed() {
    check("purge_refused", &["-DREFUSE_MUNMAP"]);
}

// ---- calloc ----

#[test]
fn calloc_is_always_zero_and_never_touches_fresh_memory() {
    check("calloc_zero", &[]);
}

#[test]
fn calloc_is_zero_where_purging_is_refused() {
    check("calloc_zero", &["-DREFUSE_MADVISE"]);
}

#[test]
fn calloc_is_zero_where_memory_is_locked() {
    check("calloc_locked", &[]);
}

// ---- early and late calls ----

#[test]
fn calls_before_every_initialiser_work() {
    check("early", &[]);
}

#[test]
fn free_of_null_may_be_the_first_call() {
    check("early", &["-DONLY_FREE"]);
}

#[test]
fn calls_from_the_first_constructor_work() {
    check("early", &["-DFROM_CONSTRUCTOR"]);
}

const EARLY_LIBRARY: &[&str] = &["-shared", "-fPIC", "-Wl,-init,early_library_init"];

#[test]
fn preloaded_libraries_may_allocate_in_their_initialisers() {
    let (Some(early), Some(user)) = (compile("early_library", EARLY_LIBRARY), compile("early_library_user", &[]))
    else {
        return;
    };
    passes(&user.run_preloading(&[library(), &early.path]));
    passes(&user.run_preloading(&[&early.path, library()]));
}

#[test]
fn linked_libraries_may_allocate_in_their_initialisers() {
    let Some(early) = compile("early_library", EARLY_LIBRARY) else { return };
    let path = early.path.to_str().expect("temporary paths are text");
    check("early_library_user", &["-Wl,--no-as-needed", path]);
}

#[test]
fn calls_at_the_end_of_threads_and_of_the_process_work() {
    check("late", &[]);
}

// ---- C++ ----

#[test]
fn new_and_delete_work_in_all_forms() {
    check("new_delete", &["-std=c++17", "-fsized-deallocation"]);
}

#[test]
fn a_wrong_size_does_no_harm() {
    check("wrong_size", &["-std=c++17", "-fsized-deallocation"]);
}

#[test]
fn delete_follows_an_executable_with_a_malloc_of_its_own() {
    check("own_malloc", &["-std=c++17", "-fsized-deallocation", "-rdynamic"]);
}

#[test]
fn delete_follows_an_executable_whose_blocks_start_with_a_mapping() {
    check("own_malloc", &["-std=c++17", "-fsized-deallocation", "-rdynamic", "-DBARE"]);
}

#[test]
fn delete_follows_an_executable_whose_malloc_wraps_ours() {
    check("wrapping_malloc", &["-std=c++17", "-fsized-deallocation", "-rdynamic"]);
}

// ---- accounts ----

#[test]
fn mallinfo_tells_the_truth() {
    check("mallinfo", &[]);
}

#[test]
fn trim_gives_back_what_is_free() {
    check("trim", &[]);
}

#[test]
fn malloc_info_prints_xml() {
    let Some(program) = compile("malloc_info", &[]) else { return };
    let output = program.run();
    output.assert_success();
    let text = &output.stdout;
    assert!(text.starts_with("<malloc version=\"1\">\n") && text.ends_with("</malloc>\n"), "{text}");
    for element in ["mapped", "in-use", "cached", "free", "free-dirty", "metadata", "huge", "huge-blocks", "threads"] {
        let tag = format!("<{element} value=\"");
        let (_, rest) = text.split_once(&tag).unwrap_or_else(|| panic!("no {element} in {text}"));
        let (value, _) = rest.split_once("\"/>").unwrap_or_else(|| panic!("{element} does not end in {text}"));
        assert!(value.parse::<u64>().is_ok(), "{element} is {value}");
    }
    // A parser finds what the eye does not; without one, the above has to do.
    if installed("python3") {
        let parse = "import sys, xml.etree.ElementTree as tree\n\
            root = tree.fromstring(sys.argv[1])\n\
            value = {child.tag: int(child.get('value')) for child in root}\n\
            assert value['in-use'] >= 1000 + 100000 + (5 << 20), value\n\
            assert value['huge'] == 5 << 20 and value['huge-blocks'] == 1, value\n\
            assert value['mapped'] >= value['in-use'] + value['free'], value\n\
            assert value['threads'] == 1, value";
        let output = Command::new("python3").args(["-c", parse, text]).output().expect("python3 starts");
        assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn malloc_stats_prints_on_stderr() {
    let Some(program) = compile("malloc_stats", &[]) else { return };
    let output = program.run();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(output.stdout, "");
    assert!(output.stderr.lines().count() >= 5, "{output:?}");
    assert!(output.stderr.lines().all(|line| line.starts_with("hakmem: ")), "{output:?}");
    assert!(output.stderr.contains("hakmem: huge-blocks 1\n"), "{output:?}");
}

// ---- the library and the tests themselves ----

/// Everything that the library exports.
const EXPORTS: &[&str] = &[
    "_ZdaPv",
    "_ZdaPvRKSt9nothrow_t",
    "_ZdaPvSt11align_val_t",
    "_ZdaPvSt11align_val_tRKSt9nothrow_t",
    "_ZdaPvm",
    "_ZdaPvmSt11align_val_t",
    "_ZdlPv",
    "_ZdlPvRKSt9nothrow_t",
    "_ZdlPvSt11align_val_t",
    "_ZdlPvSt11align_val_tRKSt9nothrow_t",
    "_ZdlPvm",
    "_ZdlPvmSt11align_val_t",
    "aligned_alloc",
    "calloc",
    "cfree",
    "dlopen",
    "free",
    "free_aligned_sized",
    "free_sized",
    "mallinfo",
    "mallinfo2",
    "malloc",
    "malloc_info",
    "malloc_stats",
    "malloc_trim",
    "malloc_usable_size",
    "mallopt",
    "memalign",
    "posix_memalign",
    "pvalloc",
    "realloc",
    "reallocarray",
    "valloc",
];

#[test]
fn the_library_exports_the_allocation_family_and_nothing_else() {
    if !installed("nm") {
        return;
    }
    let output = Command::new("nm").args(["-D", "--defined-only", "-P"]).arg(library()).output().expect("nm starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("symbols are text");
    let mut found: Vec<&str> = Vec::new();
    for line in text.lines() {
        let mut fields = line.split_whitespace();
        let name = fields.next().expect("a line has a name");
        assert_eq!(fields.next(), Some("T"), "not a strong function: {line}");
        found.push(name);
    }
    found.sort_unstable();
    assert_eq!(found, EXPORTS);
}

/// Without the library every test of this file would test libc: the programs have to notice.
#[test]
fn programs_notice_that_the_library_is_missing() {
    let Some(program) = compile("zero_sizes", &[]) else { return };
    let output = program.run_preloading(&[]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(output.stderr.contains("libhakmem"), "{output:?}");
}

//! A Rust program that exports hakmem as the C functions: its own test binary, where libc and Rust's standard library
//! allocate with them too.

use libc::{c_char, c_void};
use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::ptr::null_mut;

hakmem::export_malloc!(hakmem::Mixed);

/// Every name that the macro exports.
const NAMES: &[&CStr] = &[
    c"malloc",
    c"calloc",
    c"realloc",
    c"reallocarray",
    c"free",
    c"cfree",
    c"free_sized",
    c"free_aligned_sized",
    c"aligned_alloc",
    c"memalign",
    c"posix_memalign",
    c"valloc",
    c"pvalloc",
    c"malloc_usable_size",
    c"malloc_trim",
    c"mallopt",
    c"mallinfo",
    c"mallinfo2",
    c"malloc_info",
    c"malloc_stats",
];

/// The file that the dynamic linker finds `name` in, for everybody in this process.
fn file_of(name: &CStr) -> Option<String> {
    // SAFETY: the name ends with a null byte.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    if address.is_null() {
        return None;
    }
    // SAFETY: all-null is a valid value of the struct, which is written by the call.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: `info` is writable.
    if unsafe { libc::dladdr(address, &raw mut info) } == 0 || info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: the linker's names are strings that stay.
    Some(unsafe { CStr::from_ptr(info.dli_fname) }.to_string_lossy().into_owned())
}

#[test]
fn the_executable_exports_what_libc_defines_too() {
    // Names that no library of the process defines or wants have no reason to be in the executable's dynamic symbols;
    // whoever links such a library makes the linker put them there. All of these are libc's.
    let own = file_of(c"malloc").expect("somebody defines malloc");
    assert!(!own.contains("libc.so"), "{own}");
    for name in NAMES.iter().filter(|name| !matches!(name.to_bytes(), b"cfree" | b"free_sized" | b"free_aligned_sized"))
    {
        assert_eq!(file_of(name).as_ref(), Some(&own), "{name:?}");
    }
}

#[test]
fn a_block_of_libc_is_one_of_hakmem() {
    for len in [0usize, 1, 14, 15, 16, 100, 1000, 1023, 1024, 5000, 32_767, 32_768, 100_000, 2_000_000] {
        let text = CString::new(vec![b'x'; len]).expect("there is no null byte in it");
        let usable = {
            // SAFETY: the text ends with a null byte; the copy is libc's own allocation, freed below.
            let copy = unsafe { libc::strdup(text.as_ptr()) };
            assert!(!copy.is_null());
            // SAFETY: the copy is live.
            let usable = unsafe { libc::malloc_usable_size(copy.cast()) };
            // SAFETY: a front end's functions take a block of any function that it exports.
            assert_eq!(usable, unsafe { hakmem::Mixed::usable_size(copy.cast()) }, "{len}");
            // SAFETY: as above.
            assert_eq!(unsafe { CStr::from_ptr(copy) }, text.as_c_str());
            // SAFETY: the copy is live and not used afterwards.
            unsafe { libc::free(copy.cast()) };
            usable
        };
        let block = hakmem::Mixed::allocate(len + 1);
        // SAFETY: the block is live, and freed once: by the C function.
        unsafe {
            assert_eq!(hakmem::Mixed::usable_size(block), usable, "{len}");
            libc::free(block.cast());
        }
    }
    // Where libc's own malloc would have another answer than a bin: 101 bytes are 104 there.
    let text = CString::new(vec![b'x'; 100]).expect("there is no null byte in it");
    // SAFETY: the text ends with a null byte; the copy is freed once.
    unsafe {
        let copy = libc::strdup(text.as_ptr());
        assert_eq!(libc::malloc_usable_size(copy.cast()), 112);
        libc::free(copy.cast());
    }
}

#[test]
fn getline_grows_a_block_of_hakmem() {
    let mut file = tempfile::tempfile().expect("a temporary file can be made");
    let lines: Vec<String> = (0..200usize).map(|number| "z".repeat(number * number) + "\n").collect();
    file.write_all(lines.concat().as_bytes()).expect("the temporary file is writable");
    // SAFETY: the descriptor is open, and duplicated for the stream to close; buffers are libc's, each passed back to it.
    unsafe {
        let stream = libc::fdopen(libc::dup(file.as_raw_fd()), c"r".as_ptr());
        assert!(!stream.is_null());
        libc::rewind(stream);
        let mut line: *mut c_char = null_mut();
        let mut room = 0;
        for expected in &lines {
            let len = libc::getline(&raw mut line, &raw mut room, stream);
            assert_eq!(usize::try_from(len), Ok(expected.len()));
            assert_eq!(CStr::from_ptr(line).to_bytes(), expected.as_bytes());
            let usable = hakmem::Mixed::usable_size(line.cast());
            assert!(usable >= room, "{usable} of {room}");
        }
        libc::free(line.cast());
        libc::fclose(stream);
    }
}

#[test]
fn the_standard_library_allocates_with_them() {
    // No global allocator is named in this binary: the standard library's calls malloc.
    let text = "x".repeat(101);
    // SAFETY: the string's block is live.
    assert_eq!(unsafe { hakmem::Mixed::usable_size(text.as_ptr().cast_mut()) }, 112);
    let map: HashMap<usize, String> = (0..10_000).map(|number| (number, number.to_string())).collect();
    assert!(map.iter().all(|(number, text)| text.parse() == Ok(*number)));
    let handles: Vec<_> =
        (0..8).map(|number| std::thread::spawn(move || vec![number; 10_000].iter().sum::<usize>())).collect();
    for (number, handle) in handles.into_iter().enumerate() {
        assert_eq!(handle.join().expect("the thread ends well"), number * 10_000);
    }
}

#[test]
fn the_whole_family_works_by_its_c_names() {
    // SAFETY: every block is freed once, by a function that C allows for it, and used before that only.
    unsafe {
        let mut place: *mut c_void = null_mut();
        assert_eq!(libc::posix_memalign(&raw mut place, 4096, 100), 0);
        assert_eq!(place.addr() % 4096, 0);
        libc::free(place);
        let aligned = libc::aligned_alloc(64, 640);
        assert_eq!(aligned.addr() % 64, 0);
        let zeroed: *mut u8 = libc::calloc(10, 100).cast();
        assert!(std::slice::from_raw_parts(zeroed, 1000).iter().all(|&byte| byte == 0));
        let grown: *mut u8 = libc::realloc(zeroed.cast(), 100_000).cast();
        assert!(std::slice::from_raw_parts(grown, 1000).iter().all(|&byte| byte == 0));
        libc::free(grown.cast());
        libc::free(aligned);
        libc::free(null_mut());
        assert_eq!(libc::mallopt(libc::M_MMAP_THRESHOLD, 1 << 20), 0);
        assert!(libc::mallinfo2().arena > 0);
    }
}

//! The C ABI: what C says about arguments and `errno`, on top of a front end, and the macro that exports it.
//!
//! The exported functions are one line each; those whose arguments can be wrong are written out here, generic over the
//! front end. `operator new` is not exported: libstdc++'s calls `malloc`, throws as it should, and follows an
//! executable that has a `malloc` of its own; so does `operator delete`, which calls the process's `free`.

use crate::config::Config;
use crate::config::bins::OS_PAGE;
use crate::front::{Front, Instance, inspect};
use crate::heap::stats::Usage;
use crate::os::errno::{self, EINVAL, ENOMEM};
use crate::os::report::Line;
use core::ffi::{c_int, c_void};
use core::ptr::null_mut;

/// `null` with `errno` set to `code`.
#[cold]
fn refuse(code: c_int) -> *mut c_void {
    errno::set(code);
    null_mut()
}

/// The C functions of a front end that are more than a call.
pub trait CAbi {
    /// `calloc`: ENOMEM if the product overflows.
    fn calloc(count: usize, size: usize) -> *mut c_void;

    /// `realloc`: null allocates, size 0 frees and returns null.
    ///
    /// # Safety
    /// `block` is null or a live block.
    unsafe fn realloc(block: *mut c_void, size: usize) -> *mut c_void;

    /// `reallocarray`: ENOMEM if the product overflows, and the block is untouched.
    ///
    /// # Safety
    /// `block` is null or a live block.
    unsafe fn reallocarray(block: *mut c_void, count: usize, size: usize) -> *mut c_void;

    /// `aligned_alloc` and `memalign`: EINVAL unless `align` is a power of two.
    fn memalign(align: usize, size: usize) -> *mut c_void;

    /// `posix_memalign`: returns 0, EINVAL unless `align` is a power of two and a multiple of a pointer's size, or
    /// ENOMEM; `*place` is written on success only, `errno` never.
    ///
    /// # Safety
    /// `place` is writable.
    unsafe fn posix_memalign(place: *mut *mut c_void, align: usize, size: usize) -> c_int;

    /// `pvalloc`: whole OS pages.
    fn pvalloc(size: usize) -> *mut c_void;

    /// `malloc_trim`: 1 if memory went back to the OS. The padding that glibc would keep is not kept.
    fn trim() -> c_int;

    /// `mallinfo2`, in glibc's fields; metadata counts as free.
    fn mallinfo2() -> libc::mallinfo2;

    /// `mallinfo`: the same numbers, capped where they do not fit.
    fn mallinfo() -> libc::mallinfo;

    /// `malloc_info`: the same numbers as XML on `stream`. Returns 0, or EINVAL if `options` is not 0.
    ///
    /// # Safety
    /// `stream` is an open stream.
    unsafe fn malloc_info(options: c_int, stream: *mut libc::FILE) -> c_int;

    /// `malloc_stats`: the same numbers as text on stderr, and what the preset counts.
    fn malloc_stats();
}

impl<I: Instance<C>, C: Config> CAbi for Front<I, C> {
    #[inline]
    fn calloc(count: usize, size: usize) -> *mut c_void {
        match count.checked_mul(size) {
            Some(bytes) => Self::allocate_zeroed(bytes).cast(),
            None => refuse(ENOMEM),
        }
    }

    #[inline]
    unsafe fn realloc(block: *mut c_void, size: usize) -> *mut c_void {
        if block.is_null() {
            return Self::allocate(size).cast();
        }
        // SAFETY: by the caller's promise.
        unsafe {
            if size == 0 {
                Self::deallocate(block.cast());
                return null_mut();
            }
            Self::reallocate(block.cast(), size).cast()
        }
    }

    unsafe fn reallocarray(block: *mut c_void, count: usize, size: usize) -> *mut c_void {
        match count.checked_mul(size) {
            // SAFETY: by the caller's promise.
            Some(bytes) => unsafe { Self::realloc(block, bytes) },
            None => refuse(ENOMEM),
        }
    }

    fn memalign(align: usize, size: usize) -> *mut c_void {
        if align.is_power_of_two() { Self::allocate_aligned(size, align).cast() } else { refuse(EINVAL) }
    }

    unsafe fn posix_memalign(place: *mut *mut c_void, align: usize, size: usize) -> c_int {
        if !align.is_power_of_two() || !align.is_multiple_of(size_of::<*mut c_void>()) {
            return EINVAL;
        }
        let block = errno::kept(|| Self::allocate_aligned(size, align));
        if block.is_null() {
            return ENOMEM;
        }
        // SAFETY: by the caller's promise.
        unsafe { *place = block.cast() };
        0
    }

    fn pvalloc(size: usize) -> *mut c_void {
        match size.max(1).checked_next_multiple_of(OS_PAGE) {
            Some(bytes) => Self::allocate_aligned(bytes, OS_PAGE).cast(),
            None => refuse(ENOMEM),
        }
    }

    fn trim() -> c_int {
        c_int::from(errno::kept(|| inspect::trim(I::state())))
    }

    fn mallinfo2() -> libc::mallinfo2 {
        info(&Usage::of(I::state()))
    }

    fn mallinfo() -> libc::mallinfo {
        let wide = info(&Usage::of(I::state()));
        let narrow = |bytes: usize| c_int::try_from(bytes).unwrap_or(c_int::MAX);
        libc::mallinfo {
            arena: narrow(wide.arena),
            ordblks: narrow(wide.ordblks),
            smblks: narrow(wide.smblks),
            hblks: narrow(wide.hblks),
            hblkhd: narrow(wide.hblkhd),
            usmblks: 0,
            fsmblks: narrow(wide.fsmblks),
            uordblks: narrow(wide.uordblks),
            fordblks: narrow(wide.fordblks),
            keepcost: narrow(wide.keepcost),
        }
    }

    unsafe fn malloc_info(options: c_int, stream: *mut libc::FILE) -> c_int {
        if options != 0 {
            return EINVAL;
        }
        let usage = Usage::of(I::state());
        // SAFETY: by the caller's promise; the texts end with a null byte or have their length given.
        let put = |line: &Line| unsafe {
            libc::fwrite(line.bytes().as_ptr().cast(), 1, line.bytes().len(), stream);
        };
        put(Line::new().text("<malloc version=\"1\">\n"));
        for (name, value) in named(&usage) {
            put(Line::new().text("<").text(name).text(" value=\"").decimal(value).text("\"/>\n"));
        }
        put(Line::new().text("</malloc>\n"));
        0
    }

    fn malloc_stats() {
        for (name, value) in named(&Usage::of(I::state())) {
            Line::new().text("hakmem: ").text(name).text(" ").decimal(value).text("\n").print();
        }
        if let Some(counted) = Self::statistics() {
            counted.print::<C>();
        }
    }
}

/// The numbers of a [`Usage`] under the names that the text forms use. All in bytes unless the name says otherwise.
fn named(usage: &Usage) -> [(&'static str, usize); 9] {
    [
        ("mapped", usage.mapped()),
        ("in-use", usage.in_use()),
        ("cached", usage.cached + usage.huge_cached),
        ("free", usage.mapped().saturating_sub(usage.metadata + usage.in_use())),
        ("free-dirty", usage.dirty + usage.huge_cached),
        ("metadata", usage.metadata),
        ("huge", usage.huge),
        ("huge-blocks", usage.huge_blocks),
        ("threads", usage.threads),
    ]
}

/// A [`Usage`] in the fields that glibc documents: `arena` is what is mapped for all but huge blocks, `uordblks` and
/// `fordblks` divide it into in use and free (metadata counts as free), `fsmblks` and `smblks` are the cached part of
/// the free blocks, `keepcost` is what `malloc_trim` could give back at once, `hblks` and `hblkhd` are the huge blocks.
fn info(usage: &Usage) -> libc::mallinfo2 {
    let arena = usage.segments + usage.metadata;
    let in_use = usage.blocks + usage.spans;
    libc::mallinfo2 {
        arena,
        ordblks: usage.cached_blocks,
        smblks: usage.cached_blocks,
        hblks: usage.huge_blocks,
        hblkhd: usage.huge,
        usmblks: 0,
        fsmblks: usage.cached,
        uordblks: in_use,
        fordblks: arena.saturating_sub(in_use),
        keepcost: usage.dirty + usage.huge_cached,
    }
}

/// Exports the whole C allocation family, and C++'s `operator delete`, from a front end.
///
/// For a program that wants every `malloc` of the process, its libraries' included, to be this one:
///
/// ```
/// hakmem::export_malloc!(hakmem::Mixed);
/// # fn main() { drop(vec![1]) }
/// ```
///
/// The sized forms do not trust the size: a wrong one is harmless.
#[macro_export]
macro_rules! export_malloc {
    ($front:ty) => {
        #[allow(clippy::missing_safety_doc, reason = "C's own contracts hold")]
        const _: () = {
            use ::core::ffi::{c_int, c_void};
            /// Run before main: the fork hooks have to be in place before the program adds its own, which may allocate.
            #[used]
            #[unsafe(link_section = ".init_array")]
            static PREPARE: extern "C" fn() = {
                extern "C" fn prepare() {
                    <$front>::prepare();
                }
                prepare
            };

            use $crate::__private::{CAbi, FILE, Mallinfo, Mallinfo2, public_free};

            $crate::__export! {
                fn malloc(size: usize) -> *mut c_void { <$front>::allocate(size).cast() }
                fn calloc(count: usize, size: usize) -> *mut c_void { <$front as CAbi>::calloc(count, size) }
                fn realloc(block: *mut c_void, size: usize) -> *mut c_void { <$front as CAbi>::realloc(block, size) }
                fn reallocarray(block: *mut c_void, count: usize, size: usize) -> *mut c_void {
                    <$front as CAbi>::reallocarray(block, count, size)
                }
                fn free(block: *mut c_void) { <$front>::deallocate(block.cast()) }
                fn cfree(block: *mut c_void) { <$front>::deallocate(block.cast()) }
                fn free_sized(block: *mut c_void, _size: usize) { <$front>::deallocate(block.cast()) }
                fn free_aligned_sized(block: *mut c_void, _align: usize, _size: usize) {
                    <$front>::deallocate(block.cast())
                }
                fn aligned_alloc(align: usize, size: usize) -> *mut c_void { <$front as CAbi>::memalign(align, size) }
                fn memalign(align: usize, size: usize) -> *mut c_void { <$front as CAbi>::memalign(align, size) }
                fn posix_memalign(place: *mut *mut c_void, align: usize, size: usize) -> c_int {
                    <$front as CAbi>::posix_memalign(place, align, size)
                }
                fn valloc(size: usize) -> *mut c_void { <$front as CAbi>::memalign(4096, size) }
                fn pvalloc(size: usize) -> *mut c_void { <$front as CAbi>::pvalloc(size) }
                fn malloc_usable_size(block: *mut c_void) -> usize { <$front>::usable_size(block.cast()) }
                fn malloc_trim(_pad: usize) -> c_int { <$front as CAbi>::trim() }
                // No parameter can be changed at run time: every one is refused.
                fn mallopt(_parameter: c_int, _value: c_int) -> c_int { 0 }
                fn mallinfo() -> Mallinfo { <$front as CAbi>::mallinfo() }
                fn mallinfo2() -> Mallinfo2 { <$front as CAbi>::mallinfo2() }
                fn malloc_info(options: c_int, stream: *mut FILE) -> c_int {
                    <$front as CAbi>::malloc_info(options, stream)
                }
                fn malloc_stats() { <$front as CAbi>::malloc_stats() }
                // operator delete and delete[], which call the `free` that belongs to operator new's `malloc`: plain, sized, aligned, sized and aligned, nothrow, aligned nothrow.
                fn _ZdlPv(block: *mut c_void) { public_free(block) }
                fn _ZdaPv(block: *mut c_void) { public_free(block) }
                fn _ZdlPvm(block: *mut c_void, _size: usize) { public_free(block) }
                fn _ZdaPvm(block: *mut c_void, _size: usize) { public_free(block) }
                fn _ZdlPvSt11align_val_t(block: *mut c_void, _align: usize) { public_free(block) }
                fn _ZdaPvSt11align_val_t(block: *mut c_void, _align: usize) { public_free(block) }
                fn _ZdlPvmSt11align_val_t(block: *mut c_void, _size: usize, _align: usize) {
                    public_free(block)
                }
                fn _ZdaPvmSt11align_val_t(block: *mut c_void, _size: usize, _align: usize) {
                    public_free(block)
                }
                fn _ZdlPvRKSt9nothrow_t(block: *mut c_void, _tag: *const c_void) { public_free(block) }
                fn _ZdaPvRKSt9nothrow_t(block: *mut c_void, _tag: *const c_void) { public_free(block) }
                fn _ZdlPvSt11align_val_tRKSt9nothrow_t(block: *mut c_void, _align: usize, _tag: *const c_void) {
                    public_free(block)
                }
                fn _ZdaPvSt11align_val_tRKSt9nothrow_t(block: *mut c_void, _align: usize, _tag: *const c_void) {
                    public_free(block)
                }
            }
        };
    };
}

/// The attributes that every exported function has.
#[doc(hidden)]
#[macro_export]
macro_rules! __export {
    ($(fn $name:ident($($arg:ident: $ty:ty),*) $(-> $result:ty)? $body:block)*) => {
        $(
            #[unsafe(no_mangle)]
            #[allow(non_snake_case, reason = "C++'s mangled names")]
            unsafe extern "C" fn $name($($arg: $ty),*) $(-> $result)? {
                // SAFETY: C's contract for this function is the one that the front end asks for. Functions without one
                // are safe to call all the same.
                #[allow(unused_unsafe)]
                unsafe { $body }
            }
        )*
    };
}

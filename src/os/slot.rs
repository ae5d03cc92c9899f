//! The thread slot: sixteen bytes of initial-exec TLS per front end, the address of the thread's heap and the busy mark.
//!
//! Stable Rust has no initial-exec TLS for a shared library, assembly has: a `.tdata` word whose initial value is the
//! address of the EMPTY heap, so that a thread without a heap needs no check of its own. Reading it takes two
//! instructions and never calls `__tls_get_addr`, which could allocate.

/// Defines the functions `slot`, `set_slot`, `busy` and `set_busy` of one front end over TLS words of its own.
///
/// `$name` makes the symbol unique within the process image, and the section, so that the linker can drop what is not used; `$empty` is the static whose address the slot starts with;
/// the mark starts as 0.
#[doc(hidden)]
#[macro_export]
macro_rules! __thread_slot {
    ($name:ident, $empty:path) => {
        ::core::arch::global_asm!(
            concat!(".pushsection .tdata.hakmem_", stringify!($name), ",\"awT\",@progbits"),
            ".balign 8",
            concat!(".globl hakmem_slot_", stringify!($name)),
            concat!(".hidden hakmem_slot_", stringify!($name)),
            concat!(".type hakmem_slot_", stringify!($name), ",@object"),
            concat!(".size hakmem_slot_", stringify!($name), ",16"),
            concat!("hakmem_slot_", stringify!($name), ":"),
            ".quad {empty}",
            ".quad 0",
            ".popsection",
            empty = sym $empty,
        );

        #[inline(always)]
        pub(super) fn slot() -> *mut () {
            let heap;
            // SAFETY: reads the calling thread's slot, which exists as long as the thread. `pure, readonly`: two reads
            // without a write between them may be merged.
            unsafe {
                ::core::arch::asm!(
                    concat!("mov {0}, qword ptr [rip + hakmem_slot_", stringify!($name), "@GOTTPOFF]"),
                    "mov {0}, qword ptr fs:[{0}]",
                    out(reg) heap,
                    options(pure, readonly, nostack, preserves_flags),
                );
            }
            heap
        }

        pub(super) fn set_slot(heap: *mut ()) {
            // SAFETY: writes the calling thread's slot and nothing else.
            unsafe {
                ::core::arch::asm!(
                    concat!("mov {0}, qword ptr [rip + hakmem_slot_", stringify!($name), "@GOTTPOFF]"),
                    "mov qword ptr fs:[{0}], {1}",
                    out(reg) _,
                    in(reg) heap,
                    options(nostack, preserves_flags),
                );
            }
        }

        pub(super) fn busy() -> bool {
            let mark: usize;
            // SAFETY: reads the calling thread's mark. Not `pure`: a signal handler's code may come in between.
            unsafe {
                ::core::arch::asm!(
                    concat!("mov {0}, qword ptr [rip + hakmem_slot_", stringify!($name), "@GOTTPOFF]"),
                    "mov {0}, qword ptr fs:[{0} + 8]",
                    out(reg) mark,
                    options(nostack, preserves_flags),
                );
            }
            mark != 0
        }

        pub(super) fn set_busy(mark: bool) {
            // SAFETY: writes the calling thread's mark and nothing else. A barrier for the compiler, as `asm!` is.
            unsafe {
                ::core::arch::asm!(
                    concat!("mov {0}, qword ptr [rip + hakmem_slot_", stringify!($name), "@GOTTPOFF]"),
                    "mov qword ptr fs:[{0} + 8], {1}",
                    out(reg) _,
                    in(reg) usize::from(mark),
                    options(nostack, preserves_flags),
                );
            }
        }
    };
}

//! `libhakmem.so`: the C ABI of the preset that the `preset-*` feature of `hakmem-alloc` chose.
//!
//! Without such a feature the library is empty and exports nothing. It has no std and no unwinder: a panic, which
//! nothing in the allocator raises, would abort.
#![no_std]

#[cfg(hakmem_preset)]
mod deepbind;

#[cfg(hakmem_preset)]
hakmem::export_malloc!(hakmem::Selected);

// The prebuilt core library refers to it where nothing is optimised; with panics that abort nobody calls it. Hidden: an
// exported one would be taken for that of a Rust program.
#[cfg(not(test))]
core::arch::global_asm!(
    ".pushsection .text.rust_eh_personality,\"ax\",@progbits",
    ".globl rust_eh_personality",
    ".hidden rust_eh_personality",
    "rust_eh_personality: ud2",
    ".popsection",
);

#[cfg(not(test))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    hakmem::abort()
}

//! `libhakmem.so`: the C ABI of the preset that the `preset-*` feature of `hakmem-alloc` chose.
//!
//! Without such a feature the library is empty and exports nothing. It has no std and no unwinder: a panic, which
//! nothing in the allocator raises, would abort.
#![no_std]

#[cfg(hakmem_preset)]
mod deepbind;

#[cfg(hakmem_preset)]
hakmem::export_malloc!(hakmem::Selected);

/// The prebuilt core library refers to it; with panics that abort nobody calls it, and optimisation drops it.
#[cfg(debug_assertions)]
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}

#[cfg(not(test))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    hakmem::abort()
}

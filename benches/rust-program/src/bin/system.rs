//! The program under the system allocator: libc's `malloc`.

#[global_allocator]
static ALLOCATOR: std::alloc::System = std::alloc::System;

fn main() {
    rust_program::run();
}

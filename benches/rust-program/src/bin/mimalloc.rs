//! The program under mimalloc, as its crate configures it.

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    rust_program::run();
}

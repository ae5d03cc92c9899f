//! The program under jemalloc, as its crate configures it.

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() {
    rust_program::run();
}

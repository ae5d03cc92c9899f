//! The program under hakmem's preset for mixed sizes.

#[global_allocator]
static ALLOCATOR: hakmem::Mixed = hakmem::Mixed::new();

fn main() {
    rust_program::run();
}

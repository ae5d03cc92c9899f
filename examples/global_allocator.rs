//! hakmem as a program's allocator: one line, and every `Vec`, `String` and `Box` of the program comes from it.
//!
//! `cargo run --release --example global_allocator`

use std::collections::HashMap;

#[global_allocator]
static ALLOCATOR: hakmem::Mixed = hakmem::Mixed::new();

fn main() {
    let text = "a malloc replacement whose every decision is made when it is built is built once and asked never";
    let mut counts: HashMap<String, usize> = HashMap::new();
    for word in text.split(' ') {
        *counts.entry(word.to_owned()).or_default() += 1;
    }
    let mut words: Vec<_> = counts.into_iter().collect();
    words.sort_unstable_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    for (word, count) in words.iter().take(3) {
        println!("{count} {word}");
    }
    // SAFETY: the block is the vector's, and live.
    let usable = unsafe { hakmem::Mixed::usable_size(words.as_mut_ptr().cast()) };
    println!("the vector asked for {} bytes and may use {usable}", words.capacity() * size_of::<(String, usize)>());
}

//! The stock of an arena: memory for magazines and thread heaps, which are recycled and never given back.

use super::arena::Arena;
use super::list::List;
use super::magazine::{Magazine, MagazineList};
use super::thread::ThreadHeap;
use crate::config::Config;
use crate::os::memory;
use core::ptr::null_mut;

/// Metadata is mapped in pieces of this many bytes, and touched as it is used.
const CHUNK: usize = 64 << 10;

/// Idle magazines and thread heaps, the heaps in use, and the unused rest of the last chunk.
pub struct Stock<C: Config> {
    cursor: *mut u8,
    left: usize,
    magazines: MagazineList,
    idle: List<ThreadHeap<C>>,
    /// The heaps of live threads.
    pub live: List<ThreadHeap<C>>,
    /// Bytes mapped for metadata.
    pub mapped: usize,
}

impl<C: Config> Stock<C> {
    /// A stock without anything.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            cursor: null_mut(),
            left: 0,
            magazines: MagazineList::new(),
            idle: List::new(),
            live: List::new(),
            mapped: 0,
        }
    }

    /// Cuts `size` bytes, a multiple of a magazine's size, off the chunk.
    fn cut(&mut self, size: usize) -> Option<*mut u8> {
        if self.left < size {
            return None;
        }
        let piece = self.cursor;
        self.cursor = piece.wrapping_add(size);
        self.left -= size;
        Some(piece)
    }
}

impl<C: Config> Default for Stock<C> {
    fn default() -> Self {
        Self::new()
    }
}

/// `size` bytes of zeroed metadata, aligned to a magazine's size; null if the OS refuses.
fn piece<C: Config>(arena: &Arena<C>, size: usize) -> *mut u8 {
    if let Some(piece) = arena.stock.lock().cut(size) {
        return piece;
    }
    let chunk = memory::map(CHUNK);
    if chunk.is_null() {
        return chunk;
    }
    let mut stock = arena.stock.lock();
    if let Some(piece) = stock.cut(size) {
        // Another thread was quicker.
        drop(stock);
        memory::unmap(chunk, CHUNK);
        return piece;
    }
    stock.cursor = chunk;
    stock.left = CHUNK;
    stock.mapped += CHUNK;
    stock.cut(size).unwrap_or(null_mut())
}

/// Idle magazines that an arena keeps for itself; what it has beyond that, others may use.
const KEPT: u32 = 64;

/// A magazine for the caller, contents unknown; null if the OS refuses.
pub fn magazine<C: Config>(arena: &Arena<C>) -> *mut Magazine {
    if let Some(magazine) = arena.stock.lock().magazines.pop() {
        return magazine;
    }
    if let Some(magazine) = arena.state().shared.magazines.lock().pop() {
        return magazine;
    }
    piece(arena, size_of::<Magazine>()).cast()
}

/// Takes an idle magazine back.
///
/// # Safety
/// The caller owns `magazine` and no block in it.
pub unsafe fn give_magazine<C: Config>(arena: &Arena<C>, magazine: *mut Magazine) {
    let mut stock = arena.stock.lock();
    // SAFETY: the caller gives it up.
    unsafe {
        if stock.magazines.len < KEPT {
            stock.magazines.push(magazine);
        } else {
            drop(stock);
            arena.state().shared.magazines.lock().push(magazine);
        }
    }
}

/// A thread heap, its contents to be written by the caller, in the list of live ones only after [`enlist`]; null if
/// the OS refuses.
pub fn heap<C: Config>(arena: &Arena<C>) -> *mut ThreadHeap<C> {
    let mut stock = arena.stock.lock();
    let idle = stock.idle.first();
    if !idle.is_null() {
        // SAFETY: it is in that list.
        unsafe { stock.idle.remove(idle) };
        return idle;
    }
    drop(stock);
    piece(arena, ThreadHeap::<C>::BYTES.next_multiple_of(size_of::<Magazine>())).cast()
}

/// Adds a heap to the list of live ones.
///
/// # Safety
/// The caller owns `heap`, initialised, in no list.
pub unsafe fn enlist<C: Config>(arena: &Arena<C>, heap: *mut ThreadHeap<C>) {
    // SAFETY: the caller owns the heap, which is in no list.
    unsafe { arena.stock.lock().live.push_first(heap) };
}

/// Takes a heap out of the list of live ones and keeps it for the next thread.
///
/// # Safety
/// `heap` is live in `arena`, and its thread uses it no more.
pub unsafe fn retire_heap<C: Config>(arena: &Arena<C>, heap: *mut ThreadHeap<C>) {
    let mut stock = arena.stock.lock();
    // SAFETY: a live heap is in that list.
    unsafe {
        stock.live.remove(heap);
        stock.idle.push_first(heap);
    }
}

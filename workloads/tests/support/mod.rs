//! Allocators that watch a workload, or harm it.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::ptr::{null_mut, with_exposed_provenance_mut};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};

/// Bytes before each block of [`Counting`], for the thread that it came from.
const HEADER: usize = 16;

thread_local! {
    /// Its address stands for the thread.
    static THREAD: Cell<u8> = const { Cell::new(0) };
}

/// What stands for the calling thread.
fn this_thread() -> usize {
    THREAD.with(|cell| cell.as_ptr().addr())
}

/// An allocator that counts what is asked of it.
#[derive(Debug)]
pub struct Counting<A> {
    /// Where the blocks come from.
    allocator: A,
    /// Blocks allocated.
    pub allocations: AtomicU64,
    /// Blocks freed.
    pub frees: AtomicU64,
    /// Blocks freed by another thread than the one that allocated them.
    pub remote_frees: AtomicU64,
    /// Blocks resized.
    pub reallocations: AtomicU64,
    /// The sizes of the blocks that came to be, those that resized ones had afterwards included.
    pub bytes: AtomicU64,
    /// The sizes of the blocks that went, those that resized ones had before included.
    pub bytes_freed: AtomicU64,
    /// Blocks that are live now.
    live: AtomicU64,
    /// The most blocks that were live at a time.
    pub most_live: AtomicU64,
    /// The smallest size requested.
    pub smallest: AtomicU64,
    /// The largest size requested.
    pub largest: AtomicU64,
}

impl<A> Counting<A> {
    /// Nothing counted yet.
    pub fn new(allocator: A) -> Self {
        let zero = || AtomicU64::new(0);
        Self {
            allocator,
            allocations: zero(),
            frees: zero(),
            remote_frees: zero(),
            reallocations: zero(),
            bytes: zero(),
            bytes_freed: zero(),
            live: zero(),
            most_live: zero(),
            smallest: AtomicU64::new(u64::MAX),
            largest: zero(),
        }
    }

    /// Counts a size that is requested.
    fn request(&self, size: usize) {
        self.bytes.fetch_add(size as u64, Relaxed);
        self.smallest.fetch_min(size as u64, Relaxed);
        self.largest.fetch_max(size as u64, Relaxed);
    }
}

/// The layout with room for the header.
fn with_header(layout: Layout) -> Layout {
    Layout::from_size_align(layout.size() + HEADER, HEADER).expect("a layout")
}

// SAFETY: the blocks are those of the allocator behind it, without their first bytes; alignments up to 16 are all that
// is asked for.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Counting<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        assert!(layout.size() > 0 && layout.align() <= HEADER);
        self.allocations.fetch_add(1, Relaxed);
        self.most_live.fetch_max(self.live.fetch_add(1, Relaxed) + 1, Relaxed);
        self.request(layout.size());
        // SAFETY: the size is not 0, and the header fits into the block.
        unsafe {
            let block = self.allocator.alloc(with_header(layout));
            if block.is_null() {
                return null_mut();
            }
            block.cast::<usize>().write(this_thread());
            block.add(HEADER)
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        self.frees.fetch_add(1, Relaxed);
        self.live.fetch_sub(1, Relaxed);
        self.bytes_freed.fetch_add(layout.size() as u64, Relaxed);
        // SAFETY: the block came from `alloc` with this layout.
        unsafe {
            let block = block.sub(HEADER);
            self.remote_frees.fetch_add(u64::from(block.cast::<usize>().read() != this_thread()), Relaxed);
            self.allocator.dealloc(block, with_header(layout));
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        self.reallocations.fetch_add(1, Relaxed);
        self.bytes_freed.fetch_add(layout.size() as u64, Relaxed);
        self.request(size);
        // SAFETY: the block came from `alloc` with this layout; the header moves with it.
        unsafe {
            let block = self.allocator.realloc(block.sub(HEADER), with_header(layout), size + HEADER);
            if block.is_null() { block } else { block.add(HEADER) }
        }
    }
}

/// Blocks that [`Scribbling`] has in mind.
const VICTIMS: usize = 256;

/// An allocator that writes to a live block of somebody's each time it is asked for another one.
#[derive(Debug)]
pub struct Scribbling<A> {
    /// Where the blocks come from.
    allocator: A,
    /// Addresses of live blocks, each at its [`place`], or 0; and the place whose turn it is.
    victims: Mutex<([usize; VICTIMS], usize)>,
}

/// The place of a block among the victims.
fn place(block: usize) -> usize {
    block / 16 % VICTIMS
}

impl<A: GlobalAlloc> Scribbling<A> {
    /// No blocks yet.
    pub fn new(allocator: A) -> Self {
        Self { allocator, victims: Mutex::new(([0; VICTIMS], 0)) }
    }

    /// Changes the first byte of a live block.
    fn scribble(&self) {
        let (victims, turn) = &mut *self.victims.lock().expect("no panic");
        *turn = (*turn + 1) % VICTIMS;
        if victims[*turn] != 0 {
            let first = with_exposed_provenance_mut(victims[*turn]);
            // SAFETY: the block is live as long as the victims are locked. That its owner may look at the byte at the
            // same time is what the workloads must notice.
            unsafe { AtomicU8::from_ptr(first).fetch_add(1, Relaxed) };
        }
    }

    /// Has the block in mind, unless there is none.
    fn remember(&self, block: *mut u8) {
        let block = block.expose_provenance();
        self.victims.lock().expect("no panic").0[place(block)] = block;
    }

    /// Leaves the block alone.
    fn forget(&self, block: *mut u8) {
        let victim = &mut self.victims.lock().expect("no panic").0[place(block.addr())];
        if *victim == block.addr() {
            *victim = 0;
        }
    }
}

// SAFETY: the allocator behind it answers every call. What it does to contents is its purpose.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Scribbling<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.scribble();
        // SAFETY: the caller's promises are those that this call asks for. Zeroed: no byte without a value is changed.
        let block = unsafe { self.allocator.alloc_zeroed(layout) };
        self.remember(block);
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        self.forget(block);
        // SAFETY: as above.
        unsafe { self.allocator.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        self.scribble();
        self.forget(block);
        // SAFETY: as above.
        let block = unsafe { self.allocator.realloc(block, layout, size) };
        self.remember(block);
        block
    }
}

//! Huge blocks: each a mapping of its own, in multiples of 64 KiB, with a cache of freed ones.
//!
//! Their descriptors lie apart from them, in a hash table of lists by address, so nothing in band says how long a block
//! is. Called by the slow paths of the front.

use super::page_map;
use super::purge::Keeper;
use super::segment::Misuse;
use crate::config::bins::PAGE;
use crate::os::lock::{Lock, Locked};
use crate::os::memory;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicUsize, Ordering};

/// Lists of the hash table. A process has at most some 65,000 mappings, which makes for short lists.
const BUCKETS: usize = 1024;
/// Freed blocks that are kept at most.
const KEPT: usize = 32;
/// Descriptors are mapped in pieces of this many bytes.
const CHUNK: usize = 16 << 10;

/// Descriptor of a live huge block.
struct Node {
    next: *mut Node,
    start: *mut u8,
    len: usize,
}

struct Nodes {
    idle: *mut Node,
    cursor: *mut Node,
    left: usize,
    mapped: usize,
}

#[derive(Clone, Copy)]
struct Range {
    start: *mut u8,
    len: usize,
}

/// Freed blocks, the oldest first. Their contents are unknown.
struct Cache {
    ranges: [Range; KEPT],
    count: usize,
    bytes: usize,
    keeper: Keeper,
}

/// The huge blocks of one front end.
pub struct Huge {
    buckets: [Locked<*mut Node>; BUCKETS],
    nodes: Locked<Nodes>,
    cache: Locked<Cache>,
    /// Bytes of live huge blocks.
    pub live: AtomicUsize,
    /// Number of live huge blocks.
    pub blocks: AtomicUsize,
}

const NOTHING: Range = Range { start: null_mut(), len: 0 };

impl Cache {
    fn remove(&mut self, index: usize) -> Range {
        let range = self.ranges[index % KEPT];
        self.ranges.copy_within((index + 1).min(KEPT)..self.count.min(KEPT), index.min(self.count));
        self.count -= 1;
        self.bytes -= range.len;
        range
    }

    /// The best fit: the smallest range that wastes at most an eighth.
    fn take(&mut self, len: usize) -> Option<Range> {
        let mut best = None;
        for (index, range) in self.ranges.iter().take(self.count).enumerate() {
            if range.len >= len
                && range.len - len <= len / 8
                && best.is_none_or(|(_, found): (usize, usize)| range.len < found)
            {
                best = Some((index, range.len));
            }
        }
        best.map(|(index, _)| self.remove(index))
    }
}

impl Huge {
    /// No huge blocks.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            buckets: [const { Locked::new(null_mut()) }; BUCKETS],
            nodes: Locked::new(Nodes { idle: null_mut(), cursor: null_mut(), left: 0, mapped: 0 }),
            cache: Locked::new(Cache { ranges: [NOTHING; KEPT], count: 0, bytes: 0, keeper: Keeper::new() }),
            live: AtomicUsize::new(0),
            blocks: AtomicUsize::new(0),
        }
    }

    /// Calls `visit` for every lock, in a fixed order.
    pub fn for_each_lock(&self, visit: impl Fn(&Lock)) {
        for bucket in &self.buckets {
            visit(bucket.raw());
        }
        visit(self.nodes.raw());
        visit(self.cache.raw());
    }

    fn bucket(&self, start: *mut u8) -> &Locked<*mut Node> {
        // Fibonacci hashing of the page number: neighbours land apart.
        let hash =
            (start.addr() / PAGE).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (usize::BITS - BUCKETS.trailing_zeros());
        &self.buckets[hash % BUCKETS]
    }

    fn node(&self) -> *mut Node {
        let mut nodes = self.nodes.lock();
        loop {
            if let Some(idle) = core::ptr::NonNull::new(nodes.idle) {
                // SAFETY: idle descriptors belong to the pool, whose lock is held.
                nodes.idle = unsafe { (*idle.as_ptr()).next };
                return idle.as_ptr();
            }
            if nodes.left > 0 {
                nodes.left -= 1;
                let node = nodes.cursor;
                nodes.cursor = node.wrapping_add(1);
                return node;
            }
            drop(nodes);
            let chunk = memory::map(CHUNK);
            if chunk.is_null() {
                return null_mut();
            }
            nodes = self.nodes.lock();
            if nodes.left == 0 {
                nodes.cursor = chunk.cast();
                nodes.left = CHUNK / size_of::<Node>();
                nodes.mapped += CHUNK;
            } else {
                // Another thread was quicker.
                drop(nodes);
                memory::unmap(chunk, CHUNK);
                nodes = self.nodes.lock();
            }
        }
    }

    fn give_node(&self, node: *mut Node) {
        let mut nodes = self.nodes.lock();
        // SAFETY: the caller took the descriptor out of its list.
        unsafe { (*node).next = nodes.idle };
        nodes.idle = node;
    }

    fn insert(&self, node: *mut Node) {
        // SAFETY: the caller owns the descriptor.
        let start = unsafe { (*node).start };
        let mut head = self.bucket(start).lock();
        // SAFETY: as above.
        unsafe { (*node).next = *head };
        *head = node;
    }

    /// Calls `with` with the place of the link to the descriptor of the block at `start`, its list locked.
    fn find<R>(&self, start: *mut u8, with: impl FnOnce(&mut *mut Node) -> R) -> Option<R> {
        let mut head = self.bucket(start).lock();
        let mut link: *mut *mut Node = &raw mut *head;
        // SAFETY: descriptors in the list are valid, and the list's lock is held.
        unsafe {
            while !(*link).is_null() {
                if (**link).start == start {
                    return Some(with(&mut *link));
                }
                link = &raw mut (**link).next;
            }
        }
        None
    }

    fn remove(&self, start: *mut u8) -> Option<*mut Node> {
        self.find(start, |link| {
            let node = *link;
            // SAFETY: the descriptor is in the locked list.
            *link = unsafe { (*node).next };
            node
        })
    }

    /// A huge block of at least `size` bytes at a multiple of `align`, zeroed if `zero`; null if no memory is to be had.
    /// `size <= isize::MAX`.
    #[must_use]
    pub fn allocate(&self, size: usize, align: usize, zero: bool) -> *mut u8 {
        let Some(len) = size.max(1).checked_next_multiple_of(PAGE) else { return null_mut() };
        let node = self.node();
        if node.is_null() {
            return null_mut();
        }
        let cached = if align <= PAGE { self.cache.lock().take(len) } else { None };
        let (range, clean) = match cached {
            Some(range) => (range, false),
            None => {
                self.cache.lock().keeper.wanted(len);
                (Range { start: self.map(len, align.max(PAGE)), len }, true)
            }
        };
        if range.start.is_null() {
            self.give_node(node);
            return null_mut();
        }
        if zero && !clean {
            // SAFETY: the range is mapped and nobody else's.
            unsafe { range.start.write_bytes(0, size) };
        }
        // SAFETY: descriptor and range are this thread's until the block is handed out.
        unsafe {
            (*node).start = range.start;
            (*node).len = range.len;
            page_map::set(range.start.addr(), 1, page_map::HUGE);
            page_map::set(range.start.addr() + PAGE, range.len / PAGE - 1, page_map::HUGE_INSIDE);
        }
        self.insert(node);
        // Relaxed: counts, compared with limits.
        self.live.fetch_add(range.len, Ordering::Relaxed);
        self.blocks.fetch_add(1, Ordering::Relaxed);
        range.start
    }

    /// Fresh memory with writable map entries; gives the cache back and tries again if the OS refuses.
    fn map(&self, len: usize, align: usize) -> *mut u8 {
        let mut start = memory::map_aligned(len, align);
        if start.is_null() && self.trim(0) > 0 {
            start = memory::map_aligned(len, align);
        }
        if !start.is_null() && !page_map::make_writable(start.addr(), len) {
            memory::unmap(start, len);
            return null_mut();
        }
        start
    }

    /// Usable bytes of the huge block at `start`.
    pub fn usable(&self, start: *mut u8) -> Result<usize, Misuse> {
        // SAFETY: the descriptor is in the locked list.
        self.find(start, |link| unsafe { (**link).len }).ok_or(Misuse::NotABlock)
    }

    /// Frees the huge block at `start`: into the cache, or back to the OS where the cache holds enough.
    pub fn free(&self, start: *mut u8, keep: bool) -> Result<(), Misuse> {
        let Some(node) = self.remove(start) else { return Err(Misuse::NotABlock) };
        // SAFETY: the descriptor was just taken out of its list.
        let range = unsafe { Range { start, len: (*node).len } };
        self.give_node(node);
        // Relaxed: counts, compared with limits.
        let live = self.live.fetch_sub(range.len, Ordering::Relaxed) - range.len;
        self.blocks.fetch_sub(1, Ordering::Relaxed);
        // SAFETY: the block was the caller's, and is this thread's now.
        unsafe { page_map::set(start.addr(), range.len / PAGE, page_map::HUGE_IDLE) };
        let mut surplus = [NOTHING; KEPT + 1];
        let mut count = 0;
        let mut cache = self.cache.lock();
        if cache.count == KEPT {
            surplus[count] = cache.remove(0);
            count += 1;
        }
        let end = cache.count;
        cache.ranges[end % KEPT] = range;
        cache.count += 1;
        cache.bytes += range.len;
        if !keep && cache.bytes > cache.keeper.allowance(live) {
            let target = cache.keeper.target(live);
            while cache.bytes > target && cache.count > 0 {
                let oldest = cache.remove(0);
                cache.keeper.gave_back(oldest.len);
                surplus[count % (KEPT + 1)] = oldest;
                count += 1;
            }
        }
        drop(cache);
        for range in surplus.iter().take(count) {
            unmap(*range);
        }
        Ok(())
    }

    /// Gives cached blocks back until at most `target` bytes are cached; returns the bytes given back.
    pub fn trim(&self, target: usize) -> usize {
        let mut bytes = 0;
        loop {
            let mut cache = self.cache.lock();
            if cache.count == 0 || cache.bytes <= target {
                return bytes;
            }
            let range = cache.remove(0);
            drop(cache);
            bytes += range.len;
            unmap(range);
        }
    }

    /// Bytes of freed blocks in the cache.
    pub fn cached(&self) -> usize {
        self.cache.lock().bytes
    }

    /// Bytes mapped for descriptors.
    pub fn metadata(&self) -> usize {
        self.nodes.lock().mapped
    }

    /// Makes the huge block at `start` hold `size` bytes and returns its new address, contents kept: where it is, or
    /// moved by the kernel without a copy. Null if that cannot be done; the block is then as it was.
    pub fn resize(&self, start: *mut u8, size: usize) -> Result<*mut u8, Misuse> {
        let old = self.usable(start)?;
        let Some(new) = size.checked_next_multiple_of(PAGE) else { return Ok(null_mut()) };
        if new == old {
            return Ok(start);
        }
        if new < old {
            let tail = Range { start: start.wrapping_add(new), len: old - new };
            // SAFETY: the tail is part of the caller's block, which ends before it from now on.
            unsafe { page_map::set(tail.start.addr(), tail.len / PAGE, page_map::GONE) };
            if !memory::unmap(tail.start, tail.len) {
                // The block stays as long as it was.
                // SAFETY: as above.
                unsafe { page_map::set(tail.start.addr(), tail.len / PAGE, page_map::HUGE_INSIDE) };
                memory::purge(tail.start, tail.len);
                return Ok(start);
            }
            self.find(start, |link| {
                // SAFETY: the descriptor is in the locked list.
                unsafe { (**link).len = new }
            });
            self.live.fetch_sub(tail.len, Ordering::Relaxed);
            return Ok(start);
        }
        let grown = self.grow(start, old, new);
        if !grown.is_null() {
            self.live.fetch_add(new - old, Ordering::Relaxed);
        }
        Ok(grown)
    }

    fn grow(&self, start: *mut u8, old: usize, new: usize) -> *mut u8 {
        if page_map::make_writable(start.addr(), new) && memory::resize_in_place(start, old, new) {
            // SAFETY: the range is the caller's block, just grown.
            unsafe { page_map::set(start.addr() + old, (new - old) / PAGE, page_map::HUGE_INSIDE) };
            self.find(start, |link| {
                // SAFETY: the descriptor is in the locked list.
                unsafe { (**link).len = new }
            });
            return start;
        }
        let to = memory::reserve_aligned(new, PAGE);
        if to.is_null() {
            return to;
        }
        if !page_map::make_writable(to.addr(), new) {
            memory::unmap(to, new);
            return null_mut();
        }
        let Some(node) = self.remove(start) else { return null_mut() };
        // SAFETY: both ranges are this thread's. The old entries change before the kernel can give the addresses away.
        unsafe {
            page_map::set(start.addr(), old / PAGE, page_map::GONE);
            if memory::move_to(start, old, to, new) {
                (*node).start = to;
                (*node).len = new;
            }
            let moved = (*node).start == to;
            let (now, len) = if moved { (to, new) } else { (start, old) };
            page_map::set(now.addr(), 1, page_map::HUGE);
            page_map::set(now.addr() + PAGE, len / PAGE - 1, page_map::HUGE_INSIDE);
            self.insert(node);
            if moved { to } else { null_mut() }
        }
    }
}

impl Default for Huge {
    fn default() -> Self {
        Self::new()
    }
}

/// Gives a range back to the OS for good.
fn unmap(range: Range) {
    // SAFETY: the range is a freed block's, out of the cache. The entries change before the addresses can be
    // somebody else's.
    unsafe { page_map::set(range.start.addr(), range.len / PAGE, page_map::GONE) };
    if !memory::unmap(range.start, range.len) {
        // Refused (a filter, or the limit on mappings): the addresses stay unused, the memory goes.
        memory::purge(range.start, range.len);
    }
}

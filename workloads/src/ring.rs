//! A bounded queue from one thread to another, without locks.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A counter with a cache line of its own: the two threads write to different ones.
#[repr(align(64))]
struct Counter(AtomicUsize);

/// The queue. `taken <= given <= taken + places`; the items from `taken` to `given` wait, each in the place of its
/// number modulo the number of places, which is a power of two.
pub(crate) struct Ring<T> {
    /// Items given so far.
    given: Counter,
    /// Items taken so far.
    taken: Counter,
    /// Where they wait.
    places: Box<[UnsafeCell<MaybeUninit<T>>]>,
}

// SAFETY: there is one giver, which touches the places that no item waits in, and one taker, which touches the others;
// the counters, stored with release and read with acquire, pass the places from one to the other.
unsafe impl<T: Send> Sync for Ring<T> {}

/// The end that items go into.
pub(crate) struct Giver<'a, T>(&'a Ring<T>);

/// The end that items come out of.
pub(crate) struct Taker<'a, T>(&'a Ring<T>);

impl<T> Ring<T> {
    /// An empty one of so many places.
    pub fn new(places: usize) -> Self {
        assert!(places.is_power_of_two());
        let places = (0..places).map(|_| UnsafeCell::new(MaybeUninit::uninit())).collect();
        Self { given: Counter(AtomicUsize::new(0)), taken: Counter(AtomicUsize::new(0)), places }
    }

    /// Its ends, of which there is one each.
    pub fn ends(&mut self) -> (Giver<'_, T>, Taker<'_, T>) {
        (Giver(self), Taker(self))
    }

    /// The place of an item.
    #[inline(always)]
    fn place(&self, number: usize) -> *mut MaybeUninit<T> {
        self.places[number & (self.places.len() - 1)].get()
    }
}

impl<T> Drop for Ring<T> {
    fn drop(&mut self) {
        let (_, mut taker) = self.ends();
        while taker.take().is_some() {}
    }
}

impl<T> Giver<'_, T> {
    /// Puts the item into the queue; a queue that is full hands it back.
    #[inline(always)]
    pub fn give(&mut self, item: T) -> Result<(), T> {
        let given = self.0.given.0.load(Ordering::Relaxed);
        if given - self.0.taken.0.load(Ordering::Acquire) == self.0.places.len() {
            return Err(item);
        }
        // SAFETY: no item waits in this place, and the taker leaves it alone until `given` is stored.
        unsafe { (*self.0.place(given)).write(item) };
        self.0.given.0.store(given + 1, Ordering::Release);
        Ok(())
    }
}

impl<T> Taker<'_, T> {
    /// Takes the item that has waited longest.
    #[inline(always)]
    pub fn take(&mut self) -> Option<T> {
        let taken = self.0.taken.0.load(Ordering::Relaxed);
        if taken == self.0.given.0.load(Ordering::Acquire) {
            return None;
        }
        // SAFETY: an item waits here, and the giver leaves the place alone until `taken` is stored.
        let item = unsafe { (*self.0.place(taken)).assume_init_read() };
        self.0.taken.0.store(taken + 1, Ordering::Release);
        Some(item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wait::until;
    use std::sync::Arc;
    use std::thread;

    #[test]
    fn items_come_out_in_order_and_a_full_ring_takes_none() {
        let mut ring = Ring::new(4);
        let (mut giver, mut taker) = ring.ends();
        for _ in 0..3 {
            assert!((0..4).all(|number| giver.give(number).is_ok()));
            assert_eq!(giver.give(4), Err(4));
            assert_eq!([(); 5].map(|()| taker.take()), [Some(0), Some(1), Some(2), Some(3), None]);
        }
    }

    #[test]
    fn nothing_is_lost_between_threads() {
        let mut ring = Ring::new(8);
        let (mut giver, mut taker) = ring.ends();
        thread::scope(|scope| {
            scope.spawn(move || {
                for number in 0..20_000 {
                    until(|| giver.give(Box::new(number)).ok());
                }
            });
            for number in 0..20_000 {
                assert_eq!(*until(|| taker.take()), number);
            }
        });
    }

    #[test]
    fn what_waits_is_dropped_with_the_ring() {
        let item = Arc::new(());
        let mut ring = Ring::new(2);
        assert!(ring.ends().0.give(item.clone()).is_ok());
        drop(ring);
        assert_eq!(Arc::strong_count(&item), 1);
    }
}

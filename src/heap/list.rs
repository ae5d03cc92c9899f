//! A doubly linked list of things that carry their own links: segments of an arena, pages of a central bin, heaps of live
//! threads. Who guards it is up to its owner; every method wants the lock that guards the list and its members' links.

use core::ptr::null_mut;

/// The links of a member. All-zero (null) is a member of no list.
#[repr(C)]
pub struct Links<T> {
    next: *mut T,
    prev: *mut T,
}

/// A thing with links.
pub trait Linked: Sized {
    /// Address of the links in `this`.
    fn links(this: *mut Self) -> *mut Links<Self>;
}

/// The list. All-zero is an empty one.
#[repr(C)]
pub struct List<T> {
    head: *mut T,
    tail: *mut T,
}

impl<T> Links<T> {
    /// The links of a member of no list.
    #[must_use]
    pub const fn new() -> Self {
        Self { next: null_mut(), prev: null_mut() }
    }
}

impl<T> Default for Links<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Linked> List<T> {
    /// A list without members.
    #[must_use]
    pub const fn new() -> Self {
        Self { head: null_mut(), tail: null_mut() }
    }

    /// The first member, or null.
    #[inline]
    pub fn first(&self) -> *mut T {
        self.head
    }

    /// The member after `this`, or null.
    ///
    /// # Safety
    /// `this` is in the list.
    #[inline]
    pub unsafe fn after(&self, this: *mut T) -> *mut T {
        // SAFETY: members are valid, and their links are guarded by what guards the list.
        unsafe { (*T::links(this)).next }
    }

    /// Adds `this` as the first member.
    ///
    /// # Safety
    /// `this` is valid and in no list.
    pub unsafe fn push_first(&mut self, this: *mut T) {
        // SAFETY: as in `after`.
        unsafe {
            *T::links(this) = Links { next: self.head, prev: null_mut() };
            if self.head.is_null() { self.tail = this } else { (*T::links(self.head)).prev = this }
        }
        self.head = this;
    }

    /// Adds `this` as the last member.
    ///
    /// # Safety
    /// `this` is valid and in no list.
    pub unsafe fn push_last(&mut self, this: *mut T) {
        // SAFETY: as in `after`.
        unsafe {
            *T::links(this) = Links { next: null_mut(), prev: self.tail };
            if self.tail.is_null() { self.head = this } else { (*T::links(self.tail)).next = this }
        }
        self.tail = this;
    }

    /// Takes `this` out.
    ///
    /// # Safety
    /// `this` is in the list.
    pub unsafe fn remove(&mut self, this: *mut T) {
        // SAFETY: as in `after`.
        unsafe {
            let Links { next, prev } = core::ptr::read(T::links(this));
            if prev.is_null() {
                self.head = next
            } else {
                (*T::links(prev)).next = next
            }
            if next.is_null() { self.tail = prev } else { (*T::links(next)).prev = prev }
        }
    }
}

impl<T: Linked> Default for List<T> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Member {
        links: Links<Self>,
        name: char,
    }

    impl Linked for Member {
        fn links(this: *mut Self) -> *mut Links<Self> {
            // SAFETY: `this` is valid in this test.
            unsafe { &raw mut (*this).links }
        }
    }

    fn names(list: &List<Member>) -> [char; 4] {
        let mut names = ['.'; 4];
        let mut member = list.first();
        for name in &mut names {
            // SAFETY: members live to the end of the test.
            unsafe {
                if member.is_null() {
                    break;
                }
                *name = (*member).name;
                member = list.after(member);
            }
        }
        names
    }

    #[test]
    fn members_stand_where_they_were_put() {
        let [mut a, mut b, mut c] = ['a', 'b', 'c'].map(|name| Member { links: Links::new(), name });
        let (a, b, c) = (&raw mut a, &raw mut b, &raw mut c);
        let mut list = List::new();
        // SAFETY: each member is in the list when it is removed and not when it is added.
        unsafe {
            list.push_first(b);
            list.push_first(a);
            list.push_last(c);
            assert_eq!(names(&list), ['a', 'b', 'c', '.']);
            list.remove(b);
            assert_eq!(names(&list), ['a', 'c', '.', '.']);
            list.remove(a);
            list.push_last(a);
            assert_eq!(names(&list), ['c', 'a', '.', '.']);
            list.remove(c);
            list.remove(a);
            assert_eq!(names(&list), ['.'; 4]);
            list.push_last(b);
            assert_eq!(names(&list), ['b', '.', '.', '.']);
        }
    }
}

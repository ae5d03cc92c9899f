//! Routes: what fills an empty magazine and takes a full one back, chosen for each class.

use super::class::{Class, Classes};

/// What serves a class, behind the hot path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Route {
    /// Central bins, shared by the threads of an arena: hakmem's unified cache.
    Legacy = 0,
    /// A larger magazine of the thread's own in front of the central bin.
    Ultra = 1,
    /// Pages owned by the thread, for blocks of 257 to 768 bytes.
    MidV3 = 2,
    /// The same with stacks of free pages per class and a record of each retired page.
    MidV35 = 3,
    /// SmallObject v3: pages owned by the thread.
    SmallV3 = 4,
    /// SmallObject v4: a page is found by segment arithmetic.
    SmallV4 = 5,
    /// SmallObject v5: a stub that falls back to pool v1.
    SmallV5 = 6,
    /// SmallObject v7, which a learner may move C5 away from.
    SmallV7 = 7,
    /// The pool for mid sizes.
    PoolV1 = 8,
    /// Its second version.
    PoolV2 = 9,
}

impl Route {
    /// Every route, in order.
    pub const ALL: [Self; 10] = [
        Self::Legacy,
        Self::Ultra,
        Self::MidV3,
        Self::MidV35,
        Self::SmallV3,
        Self::SmallV4,
        Self::SmallV5,
        Self::SmallV7,
        Self::PoolV1,
        Self::PoolV2,
    ];

    /// Its name in preset files and, with a class behind it, in features: `mid-v35-c6`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Legacy => "legacy",
            Self::Ultra => "ultra",
            Self::MidV3 => "mid-v3",
            Self::MidV35 => "mid-v35",
            Self::SmallV3 => "small-v3",
            Self::SmallV4 => "small-v4",
            Self::SmallV5 => "small-v5",
            Self::SmallV7 => "small-v7",
            Self::PoolV1 => "pool-v1",
            Self::PoolV2 => "pool-v2",
        }
    }

    /// The classes that it can serve.
    #[must_use]
    pub const fn classes(self) -> Classes {
        Classes(match self {
            Self::Legacy => 0xff,
            Self::Ultra => 0xf0,
            Self::MidV35 => 0xe0,
            Self::MidV3 | Self::SmallV7 => 0x60,
            Self::SmallV5 => 0x40,
            Self::SmallV3 | Self::SmallV4 | Self::PoolV1 | Self::PoolV2 => 0xc0,
        })
    }

    /// Whether it is built: a preset can choose it.
    #[must_use]
    pub const fn ready(self) -> bool {
        matches!(self, Self::Legacy)
    }
}

/// One [`Route`] per [`Class`], four bits each; C0 in the lowest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Routes(pub u32);

impl Routes {
    /// Every class on one route.
    #[must_use]
    pub const fn all(route: Route) -> Self {
        Self((route as u32) * 0x1111_1111)
    }

    /// The same routes with `class` on `route`.
    #[must_use]
    pub const fn with(self, class: Class, route: Route) -> Self {
        let shift = 4 * class as u32;
        Self(self.0 & !(0xf << shift) | (route as u32) << shift)
    }

    /// The route of `class`; None if the word holds a number that is no route.
    #[must_use]
    pub const fn of(self, class: Class) -> Option<Route> {
        let number = (self.0 >> (4 * class as u32) & 0xf) as usize;
        if number < Route::ALL.len() { Some(Route::ALL[number]) } else { None }
    }

    /// Whether `route` serves `class`.
    #[must_use]
    pub const fn serves(self, route: Route, class: Class) -> bool {
        self.0 >> (4 * class as u32) & 0xf == route as u32
    }

    /// The classes that `route` serves.
    #[must_use]
    pub const fn classes(self, route: Route) -> Classes {
        let mut mask = 0;
        let mut class = 0;
        while class < Class::ALL.len() {
            mask |= (self.serves(route, Class::ALL[class]) as u8) << class;
            class += 1;
        }
        Classes(mask)
    }
}

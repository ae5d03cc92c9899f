//! The workloads that hakmem is measured with, as functions that run on any allocator.
//!
//! [`WORKLOADS`] lists them; [`Workload::run`] runs one:
//!
//! ```
//! use hakmem_workloads::Workload;
//! use std::alloc::System;
//!
//! let mixed = Workload::named("mixed").expect("a workload");
//! let report = mixed.run(&System, 0.001);
//! assert_eq!(report.damaged, 0);
//! println!("{} operations in {:?}", report.operations, report.time);
//! ```
//!
//! A workload does the same work each time and on every allocator: its random numbers are a fixed sequence, and where
//! threads hand blocks to each other, who frees a block may depend on chance but not whether it is freed. It writes to
//! the blocks, looks at them where the original does, and frees all of them. Its own arrays are made before the clock
//! starts and freed after it stops, so that in between nothing but the allocator under test is asked for memory. On
//! [`System`](std::alloc::System) that is the `malloc` of the process, whatever library it comes from.

mod cross_thread;
mod growth;
mod heap;
mod larson;
mod numbers;
mod producer_consumer;
mod random;
mod ring;
mod scenarios;
mod steps;
mod table;
mod team;
mod wait;

use std::time::Duration;

pub use table::{WORKLOADS, Workload};

/// What a run did, and how long it took.
#[derive(Clone, Copy, Debug)]
pub struct Report {
    /// Blocks allocated, freed and resized, in all threads. The same in each run of a workload with the same scale.
    pub operations: u64,
    /// Of the sizes that each thread requested, in its order. The same in each run of a workload with the same scale.
    pub checksum: u64,
    /// Looks at a block whose contents were not what had been written. An allocator that is correct leaves this at 0.
    pub damaged: u64,
    /// From the first allocation to the last free, both included; without the making of threads.
    pub time: Duration,
}

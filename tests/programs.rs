//! Real programs: each does the same work without hakmem and with it preloaded, and nothing that it leaves behind may
//! differ.
//!
//! `cargo test --test programs -- --show-output` prints a line `case: NAME | WHAT IT DID | ok` for each program that
//! was compared. A program that is not installed is skipped, except under CI, where it fails; `.ci/packages` lists
//! what has to be installed there.

#[path = "programs/builds.rs"]
mod builds;
#[path = "programs/case.rs"]
mod case;
#[path = "programs/languages.rs"]
mod languages;
#[path = "programs/process.rs"]
mod process;
#[path = "programs/servers.rs"]
mod servers;
mod support;
#[path = "programs/tools.rs"]
mod tools;

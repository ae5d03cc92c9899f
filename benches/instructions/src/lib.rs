//! What every call of every preset costs in instructions, and the table of limits.
//!
//! Three programs share this library: `subject` does what is measured, one measurement a process; the benchmark `calls`
//! has iai-callgrind run it under callgrind; `gate` starts that benchmark, reads what callgrind wrote and compares it
//! with `limits.md`.
//!
//! **What counts.** Callgrind counts while one of the subject's functions `measured_*` runs, and only then. Each is one
//! call of a front end as C or Rust makes it, from its first instruction to its `ret`, whatever it calls included. So
//! there is no loop and no driver to subtract, and a hit comes out as the whole number that a disassembly shows.
//! Instructions of libc (`memset`, `memcpy`, what surrounds a system call) are kept apart from hakmem's own: they are
//! libc's to choose. The subject has a clock of its own, which stands still, because what hakmem gives back to the OS
//! depends on the time; its few instructions count as hakmem's.

pub mod limits;
pub mod operation;
pub mod profile;

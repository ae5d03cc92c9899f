//! The progress bar: on stderr, and only if that is a terminal.

use indicatif::{ProgressBar, ProgressStyle};

/// A bar that counts runs.
pub struct Progress(ProgressBar);

impl Progress {
    /// For `runs` runs.
    pub fn new(runs: usize) -> Self {
        // It hides itself where stderr is no terminal. It is drawn between runs and never during one.
        let bar = ProgressBar::new(runs as u64);
        let style = ProgressStyle::with_template("{bar:30} {pos}/{len} runs, {eta} left  {msg}");
        Self(bar.with_style(style.expect("the template is well-formed")))
    }

    /// There are more runs than was thought.
    pub fn add(&self, runs: usize) {
        self.0.inc_length(runs as u64);
    }

    /// Says what runs now.
    pub fn at(&self, what: String) {
        self.0.set_message(what);
    }

    /// A run is done.
    pub fn done(&self) {
        self.0.inc(1);
    }

    /// Prints a warning above the bar.
    pub fn warn(&self, what: &str) {
        self.0.suspend(|| eprintln!("hakmem: warning: {what}"));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

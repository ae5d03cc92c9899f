//! Ctrl-C ends a measurement in order: temporary directories are removed, and no file is written.

use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::bail;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::remedy::OrRemedy;

/// Whether somebody has asked for the end.
static ASKED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// From here on the signals are noted, and end nothing by themselves.
pub fn watch() -> anyhow::Result<()> {
    let asked = ASKED.get_or_init(Arc::default);
    for signal in [SIGINT, SIGTERM] {
        flag::register(signal, Arc::clone(asked)).or_remedy(|| "cannot watch for signals", "try again")?;
    }
    Ok(())
}

/// An error if the end was asked for. A program that runs gets the signal from the terminal too, and ends by itself.
pub fn check() -> anyhow::Result<()> {
    if ASKED.get().is_some_and(|asked| asked.load(Ordering::Relaxed)) {
        bail!("interrupted. Remedy: start again; nothing was written");
    }
    Ok(())
}

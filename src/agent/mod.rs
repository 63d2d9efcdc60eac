//! One run: from a person's prompt to its outcome, through as many exchanges with the model as the work takes.

mod calls;
pub mod compress;
pub mod recorder;
pub mod run;
pub mod title;
mod turn;

pub use recorder::{Entry, Kind, Recorder};
pub use run::{Limits, Run, run};

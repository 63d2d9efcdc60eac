//! One run: from a person's prompt to its outcome, through as many exchanges with the model as the work takes.

mod asking;
mod calls;
pub mod compress;
mod fallback;
pub mod recorder;
pub mod run;
mod sent;
pub mod title;
mod turn;
mod wall;

pub use calls::Stopper;
pub use fallback::Fallback;
pub use recorder::{Ends, Entry, Kind, Recorder};
pub use run::{Ending, Limits, Run, Tasks, UntrustedSkills, finish_calls, run};
pub use sent::Writers;

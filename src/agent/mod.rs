//! One run: from a person's prompt to its outcome, in as many exchanges with the model as the work takes.

mod asking;
mod budget;
mod calls;
pub mod compress;
mod deadline;
mod direct_call;
mod eliciting;
mod estimate;
mod executing;
mod fallback;
mod handing_off;
mod held_back;
pub mod idle_time;
mod limits;
pub mod recorder;
mod rehearsals;
mod rehearsing;
mod retrieving;
pub mod run;
mod sent;
pub mod title;
mod turn;

pub use budget::{Budget, Reservation, UsagePeriod, UsedInPeriod, worst_case};
pub use calls::StopSignal;
pub use direct_call::run_direct_call;
pub use fallback::Fallback;
pub use limits::{AdminLimits, LimitCheck, LimitReached, LimitSource};
pub use recorder::{EventKind, OwnerChannels, OwnerMessage, RecordedEvent, Recorder};
pub use retrieving::expected_retrieval;
pub use run::{Run, RunEnd, RunLimits, Tasks, UntrustedSkills, finish_calls, run};
pub use sent::AuthorLookup;

//! The home on disk, and the only module that opens its files.
//!
//! Everything goes through directory handles opened beneath the home (`openat2`: neither `..` nor a symlink leads out), so
//! a symlink that is swapped in later cannot lead outside. All functions block, except the `async` ones of [`SessionLog`]
//! and [`Tree`]; callers on the runtime use `spawn_blocking`.

mod archives;
mod aside;
mod atomic;
mod beginning;
mod blobs;
mod cache;
mod call_record;
mod capture;
mod captured;
mod chain;
mod changes;
mod error;
mod fence;
mod files;
mod folder;
mod folder_events;
mod git;
mod heads;
mod home;
mod index;
mod journal;
mod kept_bound;
mod kept_session;
mod listing;
mod moving;
pub mod outside;
mod pictures;
mod project_folder;
mod project_listing;
mod project_walk;
mod projects;
mod quarantine;
mod reading;
mod recorded_state;
mod requests;
mod reverting;
mod roots;
mod seal;
mod session_file;
mod session_files;
mod session_list;
mod session_log;
mod session_writer;
mod sessions;
mod settings;
mod starter;
mod summaries;
mod trash;
mod tree;
mod tree_projects;
mod trusted;
mod uploads;
mod usage;
mod variables;
pub mod verify;
mod weights;

pub use archives::ArchiveKind;
pub use beginning::beginning;
pub use cache::Caches;
pub use call_record::CallFiles;
pub use capture::{
    Capture, ChangeKind, LayerChanges, LayerEntry, LeftEntry, LeftReason, Node, NodeKind, Promoted, Refusal, Refused,
    ResumedPromotion,
};
pub use captured::{AppliedChanges, CapturedCall, CapturedEntry, Unkept, captured_entries};
pub use chain::Chain;
pub use changes::{ChangeSet, FileChange, FileMode, FileState, RecordGap, RecordedChange, RecordedChanges};
pub use error::{NotKeptFile, NotKeptReason, StoreError, not_kept};
pub use fence::Claim;
pub use files::{Expect, OpenedFile, TextFile, etag};
pub use folder::{FolderContent, FoundFiles};
pub use home::Home;
pub use index::{LeftOut, LeftOutReason, MAX_ENTRIES as MAX_INDEXED, Observation, ObservedCall, ObservedChanges};
pub use journal::Durability;
pub use kept_bound::DEFAULT_KEPT_LIMIT;
pub use listing::{FileEntry, FolderScan, Unlisted, UnlistedReason, is_too_deep};
pub use pictures::picture_hash;
pub use project_folder::FolderChange;
pub use project_listing::{ListedEntry, ListedKind, ProjectListing};
pub use project_walk::{Walk, WalkOptions, WalkedEntry};
pub use projects::ProjectChange;
pub use quarantine::Quarantined;
pub use reading::{CompactedContent, CompactedMessages, DeletedSession};
pub use recorded_state::{EntryKind, RecordedContent, RecordedState};
pub use requests::{FoundWork, Records, RequestPosition};
pub use seal::sha256;
pub use session_files::SessionFiles;
pub use session_list::SessionList;
pub use session_log::{ClaimedHome, ReloadOutcome, SessionListKind, SessionLog};
pub use session_writer::SessionWriter;
pub use sessions::{CompactedFile, Loaded, RecordVersion};
pub use settings::{Settings, SettingsFile, config_text, is_link, script_text};
pub use starter::{PlacedFile, is_unused, write_if_missing};
pub use summaries::SessionSummary;
pub use trash::{DeletedFile, MAX_TRASHED, TrashedVersion};
pub use tree::{OwnedHome, Tree, TreeChange, TreePath, TrustedContent};
pub use trusted::{SkillFiles, TrustedBy, TrustedVersion, Untrusted};
pub use uploads::Upload;
pub use usage::CountedWork;
pub use variables::Variable;
pub use weights::read_model_file;

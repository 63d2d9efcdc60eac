//! The home on disk, and the only module that opens its files.
//!
//! Everything goes through directory handles opened beneath the home (`openat2`: neither `..` nor a symlink leads out), so
//! a symlink that is swapped in later cannot lead outside. All functions block, except the `async` ones of [`SessionLog`]
//! and [`Tree`]; callers on the runtime use `spawn_blocking`.

mod accounts;
mod across;
mod api_tokens;
mod archives;
mod aside;
mod atomic;
mod audit;
mod authorities;
mod backup;
mod beginning;
mod blobs;
mod cache;
mod call_record;
mod capture;
mod captured;
mod chain;
mod changes;
mod cluster_accounts;
mod deleted_projects;
mod disk_space;
mod error;
mod fence;
mod files;
mod folder;
mod folder_events;
mod git;
mod git_folder;
mod guides;
mod heads;
mod home;
mod home_lock;
mod home_totals;
mod ignoring;
mod index;
mod journal;
mod kept_bound;
mod kept_session;
mod library_database;
mod linked;
mod listing;
mod mcp;
mod members;
mod moving;
pub mod outside;
mod own_providers;
mod person_move;
mod pictures;
mod postgres;
mod project_folder;
mod project_listing;
mod project_walk;
mod projects;
mod quarantine;
mod reading;
mod recall;
mod recorded_state;
mod replica;
mod requests;
mod resumable;
mod reverting;
mod roots;
mod seal;
mod sealed_text;
mod secrets;
mod server_files;
mod session_file;
mod session_files;
mod session_list;
mod session_log;
mod session_writer;
mod sessions;
mod settings;
mod shared;
mod sign_outs;
mod staged;
mod starter;
mod summaries;
mod trash;
mod tree;
mod tree_projects;
mod tree_uploads;
mod trusted;
mod uploads;
mod usage;
mod variables;
pub mod verify;
mod weights;
mod write_pause;

use seal::sha256_bytes;

pub use accounts::{AccountsUnusable, StoredAccounts};
pub use api_tokens::{API_TOKEN_PREFIX, ApiTokenScope, ApiTokens};
pub use archives::ArchiveKind;
pub use authorities::{AuthoritiesUnusable, trusted_authorities};
pub use backup::{
    BackupError, BackupOptions, BackupReport, LeftOut as LeftOutOfBackup, LinkUse, RestoreOptions, RestoreReport,
    SecretsUse, back_up, back_up_database, restore,
};
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
pub use cluster_accounts::ClusterAccounts;
pub use disk_space::DiskSpace;
pub use error::{NotKeptFile, NotKeptReason, StoreError, not_kept};
pub use fence::Claim;
pub use files::{Expect, OpenedFile, TextFile, etag};
pub use folder::{FolderContent, FoundFiles};
pub use git_folder::GitFolder;
pub use guides::{InstructionText, Instructions};
pub use home::Home;
pub use home_lock::{ServerContact, note_member, running_server};
pub use home_totals::{HomeSize, HomeTotals};
pub use index::{LeftOut, LeftOutReason, MAX_ENTRIES as MAX_INDEXED, Observation, ObservedCall, ObservedChanges};
pub use journal::Durability;
pub use kept_bound::DEFAULT_KEPT_LIMIT;
pub use library_database::LibraryDatabase;
pub use linked::{LinkTarget, LinkableFolder, NewLink};
pub use listing::{FileEntry, FolderScan, Unlisted, UnlistedReason, is_too_deep};
pub use mcp::{McpFile, PACKAGE_CACHE, ReplacedEntry, TrustedDefinition};
pub use members::StoredMembers;
pub use own_providers::{OwnKey, OwnProvider, OwnProviderChange, OwnProviderRefused, OwnProviders};
pub use person_move::{MoveFromAccount, MoveToAccount, ServerText, complete_move};
pub use pictures::picture_hash;
pub use postgres::{
    AppliedMigration, BadAddress, Beat, Checkup, Claimant, ClusterMarks, ClusterOverview, ClusterRows, Database,
    DatabaseAddress, DatabaseError, DatabaseFigures, DatabaseInfo, DatabaseLogin, FoundHome, HomeDatabase,
    HomeOverview, HomeOwnerRow, HomeRows, Joined, LibraryModel, LibraryReading, LibraryRows, LossPolicy, NewServer,
    OpenedLibrary, OtherServer, SchemaState, ServerLoad, ServerOverview, ServerRow, ServerState, latest_version,
};
pub use project_folder::FolderChange;
pub use project_listing::{ListedAt, ListedEntry, ListedKind, ProjectListing};
pub use project_walk::{Walk, WalkOptions, WalkedEntry};
pub use projects::ProjectChange;
pub use quarantine::Quarantined;
pub use reading::{CompactedContent, CompactedMessages, DeletedSession};
pub use recall::{ConversationScan, ConversationState, ConversationUnreadable};
pub use recorded_state::{EntryKind, RecordedContent, RecordedState};
pub use replica::{CacheUse, Replica, export, import, is_copy};
pub use requests::{FoundWork, Records, RequestPosition};
pub use resumable::{ArrivedCount, ArrivedFile, ArrivingFile, ResumableUpload, UploadInfo};
pub use seal::sha256;
pub use secrets::StoredSecret;
pub use server_files::{ServerFile, read_server_file, real_path, server_file_stamp};
pub use session_files::SessionFiles;
pub use session_list::SessionList;
pub use session_log::{ClaimedHome, ReloadOutcome, SessionListKind, SessionLog};
pub use session_writer::SessionWriter;
pub use sessions::{CompactedFile, Loaded, RecordVersion};
pub use settings::{Settings, SettingsChange, SettingsFile, config_text, is_link, script_text};
pub use shared::{SharedProjects, SharedState};
pub use sign_outs::BrowserCookie;
pub use staged::StagedFile;
pub use starter::{PlacedFile, is_unused, write_if_missing};
pub use summaries::{ClientWork, SessionSummary};
pub use trash::{DeletedFile, MAX_TRASHED, TrashedVersion};
pub use tree::{OwnedHome, Tree, TreeChange, TreePath, TrustedContent};
pub use tree_uploads::UploadCommit;
pub use trusted::{SkillFiles, TrustedBy, TrustedVersion, Untrusted};
pub use uploads::Upload;
pub use usage::CountedWork;
pub use variables::Variable;
pub use weights::read_model_file;

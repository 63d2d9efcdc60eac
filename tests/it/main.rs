//! End-to-end tests: the real binary over real HTTP, against a provider that follows a script.
//!
//! No test sleeps: it waits for a frame or polls until a condition holds. Every test has its own home and server. When a
//! test ends, all requests to the provider are checked ([`transcript::problems`]), the server's log must not contain a
//! panic, and the API key must not appear anywhere else ([`world`]).

#[path = "../corpus/mod.rs"]
#[allow(dead_code, reason = "shared with another test, which uses another part")]
mod corpus;
mod http;
mod script;
mod transcript;
mod world;

mod adopted;
mod any_calls;
mod apis;
mod approvals;
mod approvals_bound;
mod approvals_files;
mod approvals_restart;
mod attachments;
mod auto_compact;
mod changes;
mod chat;
mod command_changes;
mod command_kills;
mod command_line;
mod compress;
mod compress_proposed;
mod continued;
mod conversations;
mod crash;
mod crash_asking;
mod deferred_tools;
mod deleted_messages;
mod disk_error;
mod documents;
mod durable;
mod everyday;
mod fallback;
mod file_faults;
mod files;
mod fold;
mod full_disk;
mod golden;
mod guard;
mod hostile;
mod interrupt;
mod jobs;
mod journal;
mod keeping;
mod left_out;
mod malformed;
mod models;
mod moving;
mod nth_failure;
mod observed_changes;
mod operations;
mod people;
mod people_isolation;
mod permission_mode;
mod pictures;
mod pinned;
mod power_cut;
mod project;
mod project_git;
mod project_git_hostile;
mod project_guides;
mod project_secrets;
mod project_uploads;
mod projects;
mod prompt;
mod provider_connect;
mod provider_faults;
mod providers;
mod queue;
mod read_pictures;
mod rehearsal;
mod rehearsal_requested;
mod requests;
mod resume;
mod retrieval;
mod runs_later;
mod sandbox;
mod sessions;
mod settings;
mod sign_in;
mod skills_pinned;
mod starts;
mod syscall_faults;
mod tabs;
mod tainted;
mod tools;
mod usage;
mod vault;
mod verify;
mod withdraw;

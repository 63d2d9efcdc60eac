//! PostgreSQL as the store of homes: the address of a database, connections to it, and its schema.
//!
//! This is the only module that talks to a database server. Its functions are `async`; nothing here blocks.

mod account_rows;
mod address;
mod checkup;
mod claim;
mod client;
mod connection;
mod connections;
mod counters;
mod error;
mod fact_queue;
mod home_rows;
mod library_changes;
mod library_reading;
mod library_rows;
mod link;
mod overview;
mod ownership;
mod rows;
mod schema;
mod server_rows;
mod stored_home;
mod tls;

pub use account_rows::AccountsRow;
pub use address::{BadAddress, DatabaseAddress, DatabaseLogin};
pub use checkup::Checkup;
pub use claim::{Claimant, FoundHome};
pub use connection::{Database, DatabaseInfo, LossPolicy};
pub use connections::Connections;
pub use counters::DatabaseFigures;
pub use error::DatabaseError;
pub use home_rows::HomeRows;
pub use library_reading::LibraryReading;
pub use library_rows::{LibraryModel, LibraryRows, OpenedLibrary};
pub use overview::{ClusterOverview, HomeOverview, ServerOverview, ServerState};
pub use ownership::OwnershipCheck;
pub use rows::{FactDurability, FactRow, FileCommit, FileRow, HomeDatabase, Piece, PieceHash, RowKind, SessionFacts};
pub use schema::{AppliedMigration, SchemaState, latest_version};
pub use server_rows::{
    Beat, ClusterMarks, ClusterRows, HomeOwnerRow, Joined, NewServer, OtherServer, ServerLoad, ServerRow,
};
pub use stored_home::{StoredHome, UnreadHome};

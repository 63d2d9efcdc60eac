//! PostgreSQL as the store of homes: the address of a database, connections to it, and its schema.
//!
//! This is the only module that talks to a database server. Its functions are `async`; nothing here blocks.

mod address;
mod connection;
mod error;
mod schema;
mod tls;

pub use address::{BadAddress, DatabaseAddress, DatabaseLogin};
pub use connection::{Database, DatabaseInfo, LossPolicy};
pub use error::DatabaseError;
pub use schema::{AppliedMigration, SchemaState, latest_version};

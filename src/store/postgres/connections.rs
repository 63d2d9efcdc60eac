//! The connections of a process to its database. Homes share them, so that many people need few.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Semaphore;
use tokio_postgres::Client;

use super::address::DatabaseAddress;
use super::client::DatabaseClient;
use super::connection::Database;
use super::counters::{DatabaseCounters, DatabaseFigures};
use super::error::DatabaseError;

/// Connections to one database. Cheap to clone.
#[derive(Clone)]
pub struct Connections(Arc<Shared>);

struct Shared {
    limit: usize,
    turns: Arc<Semaphore>,
    idle: Mutex<Vec<DatabaseClient>>,
    /// Made in advance, for the first claim.
    prepared: Mutex<Option<DatabaseClient>>,
    /// How many connections were made.
    made: AtomicU64,
    counters: DatabaseCounters,
}

/// A connection that is in use. It is closed afterwards unless it is given back, and its place is free once it has ended.
pub(super) struct Lease {
    client: DatabaseClient,
    shared: Arc<Shared>,
}

impl fmt::Debug for Connections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Connections({} made)", self.made())
    }
}

impl Connections {
    pub(super) fn at_most(limit: usize) -> Self {
        Self(Arc::new(Shared {
            limit,
            turns: Arc::new(Semaphore::new(limit)),
            idle: Mutex::default(),
            prepared: Mutex::default(),
            made: AtomicU64::new(0),
            counters: DatabaseCounters::default(),
        }))
    }

    /// Returns a connection that nobody uses, or a new one. Waits while too many are in use.
    ///
    /// # Errors
    /// Returns why there is no connection.
    pub(super) async fn lease(&self, address: &DatabaseAddress) -> Result<Lease, DatabaseError> {
        let shared = self.0.clone();
        let turn = shared.turns.clone().acquire_owned().await.expect("the semaphore is never closed");
        let idle = || {
            let mut idle = shared.idle.lock().unwrap_or_else(PoisonError::into_inner);
            std::iter::from_fn(|| idle.pop()).find(|client| !client.is_closed())
        };
        let mut client = match idle() {
            Some(client) => client,
            None => {
                let client = Database::connect(address).await?.into_client();
                shared.made.fetch_add(1, Ordering::SeqCst);
                client
            }
        };
        client.keep_turn(turn);
        Ok(Lease { client, shared })
    }

    /// Adds a connection that has nothing under way if the next one who needs one would have to make it. Otherwise it is closed.
    pub(super) fn add(&self, client: DatabaseClient) {
        let mut idle = self.0.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.is_empty() && self.0.turns.available_permits() > 0 && !client.is_closed() {
            self.0.made.fetch_add(1, Ordering::SeqCst);
            idle.push(client);
        }
    }

    /// Keeps a connection for the next claim.
    pub(super) fn set_prepared(&self, client: DatabaseClient) {
        *self.prepared() = Some(client);
    }

    /// Returns the connection that was made in advance, once.
    pub(super) fn take_prepared(&self) -> Option<DatabaseClient> {
        self.prepared().take().filter(|client| !client.is_closed())
    }

    fn prepared(&self) -> MutexGuard<'_, Option<DatabaseClient>> {
        self.0.prepared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn counters(&self) -> &DatabaseCounters {
        &self.0.counters
    }

    /// Returns what was counted of the homes that share these connections.
    pub fn figures(&self) -> DatabaseFigures {
        self.0.counters.figures(self.0.limit - self.0.turns.available_permits())
    }

    /// Returns how many connections were made. If it is the same as before, no connection was lost in the meantime that is used
    /// now, so the database has not crashed under those that are.
    pub(super) fn made(&self) -> u64 {
        self.0.made.load(Ordering::SeqCst)
    }
}

impl Lease {
    /// Lets others use the connection, which must have nothing under way.
    pub fn give_back(mut self) {
        if !self.client.is_closed() {
            let turn = self.client.take_turn();
            self.shared.idle.lock().unwrap_or_else(PoisonError::into_inner).push(self.client);
            drop(turn);
        }
    }
}

impl Deref for Lease {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

impl DerefMut for Lease {
    fn deref_mut(&mut self) -> &mut Client {
        &mut self.client
    }
}

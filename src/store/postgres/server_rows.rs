//! The row of a server in the table `servers`, and what the other rows say.
//!
//! Whether a server lives is decided by the clock of the database alone. Death is one compare-and-swap: whoever is declared dead
//! stays dead, and can only join again under another id.

use std::time::{Duration, Instant};

use tokio_postgres::Client;
use tokio_postgres::types::Type;
use uuid::Uuid;

use super::address::DatabaseAddress;
use super::claim::FORMAT;
use super::client::DatabaseClient;
use super::connection::Database;
use super::error::DatabaseError;
use super::link::Value;
use crate::domain::{AccountId, HomeId};

/// Maximum time of one statement.
const LIMIT: Duration = Duration::from_secs(5);
/// How long after the start of the database, and after our own connection to it, nobody is declared dead because of the time: the
/// others may be on their way back.
const RETURN_TIME: Duration = Duration::from_secs(10);

const JOIN: &str = "INSERT INTO servers (server_id, address, version, reads, sign_ins, secret, alive_until) VALUES ($1, $2, $3, $4, $5, $6, \
    clock_timestamp() + interval '10 s') RETURNING extract(epoch FROM clock_timestamp())::float8";
/// A beat need not be on the disk: after a crash of the database, everybody gets time to send another one.
const BEAT: &str = "WITH durability AS (SELECT set_config('synchronous_commit', 'off', true)) UPDATE servers SET alive_until = \
    clock_timestamp() + interval '10 s', load = $2, draining = $3 FROM durability WHERE server_id = $1 AND NOT dead RETURNING extract(epoch FROM clock_timestamp())::float8";
/// Servers that were declared dead a day ago and own nothing.
const FORGET: &str = "DELETE FROM servers WHERE dead AND alive_until < clock_timestamp() - interval '1 day' AND NOT EXISTS (SELECT \
    FROM homes WHERE owner = server_id)";
/// Whether a server that lives serves other people, or knows sign-ins by another key; and whether one has another secret.
const DIFFERS: &str = "SELECT coalesce(bool_or(sign_ins IS DISTINCT FROM $1), false), coalesce(bool_or(secret <> $2), false) FROM servers \
    WHERE NOT dead AND alive_until > clock_timestamp()";
const LATE: &str = "SELECT server_id, address, alive_until < clock_timestamp() FROM servers WHERE NOT dead AND server_id <> $1 AND \
    alive_until < clock_timestamp() + interval '7 s' ORDER BY alive_until LIMIT 100";
const DECLARE_LAPSED: &str = "UPDATE servers SET dead = true WHERE server_id = $1 AND NOT dead AND alive_until < clock_timestamp() AND \
    pg_postmaster_start_time() < clock_timestamp() - interval '10 s'";
/// The lock says that the connection of its beats is gone, and the time that it has not come back.
const DECLARE_CRASHED: &str = "UPDATE servers SET dead = true WHERE server_id = $1 AND NOT dead AND alive_until < clock_timestamp() + \
    interval '7 s' AND pg_postmaster_start_time() < clock_timestamp() - interval '10 s'";
const LEAVE: &str = "UPDATE servers SET dead = true WHERE server_id = $1 AND NOT dead";
const DECLARE_GONE: &str = "UPDATE servers SET dead = true WHERE server_id = ANY($1) AND NOT dead";
const OWNERS: &str = "SELECT h.home_id, h.owner, h.fence, s.address FROM homes h JOIN servers s ON s.server_id = h.owner AND NOT s.dead \
    WHERE h.home_id = ANY($1)";
const LIVING: &str = "SELECT count(*) FROM servers WHERE NOT dead AND alive_until > clock_timestamp()";
/// Homes with works under way, whose owner is dead or has given them up, or is this server, which has then lost the database for a
/// while. Facts are there as long as a work has not settled. In random order, so that those that cannot be opened hold up no others.
const ORPHANS: &str = "SELECT account FROM homes WHERE format <= $1 AND (owner IS NULL OR owner = $3 OR NOT EXISTS (SELECT FROM servers WHERE server_id \
    = owner AND NOT dead)) AND EXISTS (SELECT FROM facts WHERE facts.home_id = homes.home_id) AND home_id <> ALL($4) \
    ORDER BY random() LIMIT $2";

/// By what servers know that they belong together. It tells nothing about what it is derived from.
#[derive(Clone, Debug)]
pub struct ClusterMarks {
    /// Of the key of sign-ins; `None` if the server serves one person.
    pub sign_ins: Option<Vec<u8>>,
    /// Of the secret of the cluster.
    pub secret: Vec<u8>,
}

/// What a server says of itself when it joins.
#[derive(Clone, Debug)]
pub struct NewServer {
    /// New for each joining.
    pub id: Uuid,
    /// The address at which the other servers reach it.
    pub address: String,
    pub version: String,
    pub marks: ClusterMarks,
}

/// What a server says of itself with each beat.
#[derive(Clone, Copy, Debug, Default)]
pub struct ServerLoad {
    /// Works under way.
    pub works: usize,
    pub is_draining: bool,
}

/// What a beat found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beat {
    /// With the time since 1970 by the clock of the database.
    Alive(Duration),
    /// Another server has declared this one dead: its claims may have new owners.
    Dead,
}

/// A server whose last beat is more than three seconds old.
#[derive(Clone, Debug)]
pub struct OtherServer {
    pub id: Uuid,
    pub address: String,
    /// Whether the time that its last beat gave it is over.
    pub is_over: bool,
}

/// Who owns a home.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HomeOwnerRow {
    pub server_id: Uuid,
    pub fence: i64,
    pub address: String,
}

/// The row of this server. Its connection is used for nothing else, and holds a lock of the database that is free as soon as this
/// process ends.
pub struct ServerRow {
    id: Uuid,
    client: DatabaseClient,
    /// Whether the lock is held. After a reconnect, the connection before may still hold it for a moment.
    is_locked: bool,
}

/// A server that has joined.
pub struct Joined {
    pub row: ServerRow,
    /// The time since 1970 by the clock of the database.
    pub time: Duration,
}

impl ServerRow {
    /// Adds this server to the table.
    ///
    /// # Errors
    /// Returns why the database cannot be used.
    pub async fn join(address: &DatabaseAddress, server: &NewServer) -> Result<Joined, DatabaseError> {
        let mut row = Self::connect(address, server.id).await?;
        let time = limited(async {
            let doing = || DatabaseError::doing("joining the cluster");
            row.client.execute_typed(FORGET, &[]).await.map_err(doing())?;
            let values: [Value<'_>; 6] = [
                (&server.id, Type::UUID),
                (&server.address, Type::TEXT),
                (&server.version, Type::TEXT),
                (&FORMAT, Type::INT4),
                (&server.marks.sign_ins, Type::BYTEA),
                (&server.marks.secret, Type::BYTEA),
            ];
            let time = time_of(&row.client.query_typed_one(JOIN, &values).await.map_err(doing())?);
            // After joining, so that of two that differ and join at once, at least one notices it.
            let marks: [Value<'_>; 2] = [(&server.marks.sign_ins, Type::BYTEA), (&server.marks.secret, Type::BYTEA)];
            let differs = row.client.query_typed_one(DIFFERS, &marks).await.map_err(doing())?;
            let refused = match (differs.get(0), differs.get(1)) {
                (false, false) => return Ok(time),
                (true, _) => DatabaseError::OtherPeople,
                (false, true) => DatabaseError::OtherSecret,
            };
            row.client.execute_typed(LEAVE, &[(&server.id, Type::UUID)]).await.map_err(doing())?;
            Err(refused)
        })
        .await?;
        row.lock().await?;
        Ok(Joined { row, time })
    }

    /// Connects again for a server that has joined.
    ///
    /// # Errors
    /// Returns why there is no connection.
    pub async fn connect(address: &DatabaseAddress, id: Uuid) -> Result<Self, DatabaseError> {
        Ok(Self { id, client: connected(address).await?, is_locked: false })
    }

    /// Says that this server lives. The time it has counts from the sending on.
    ///
    /// # Errors
    /// Returns an error if the database does not answer in time; the connection must not be used any more.
    pub async fn beat(&mut self, load: ServerLoad) -> Result<Beat, DatabaseError> {
        let works = load.works as f32;
        let beat = async {
            let values: [Value<'_>; 3] =
                [(&self.id, Type::UUID), (&works, Type::FLOAT4), (&load.is_draining, Type::BOOL)];
            let done = self.client.query_typed_opt(BEAT, &values).await;
            done.map_err(DatabaseError::doing("saying that this server lives"))
        };
        let alive = limited(beat).await?;
        if !self.is_locked {
            self.lock().await?;
        }
        Ok(alive.map_or(Beat::Dead, |row| Beat::Alive(time_of(&row))))
    }

    async fn lock(&mut self) -> Result<(), DatabaseError> {
        self.is_locked = limited(try_lock(&self.client, self.id)).await?;
        Ok(())
    }

    /// Says that this server has ended.
    ///
    /// # Errors
    /// Returns an error if the database does not answer; the others find it out by themselves.
    pub async fn leave(&self) -> Result<(), DatabaseError> {
        let left = async {
            let done = self.client.execute_typed(LEAVE, &[(&self.id, Type::UUID)]).await;
            done.map_err(DatabaseError::doing("leaving the cluster"))
        };
        limited(left).await.map(drop)
    }
}

/// What the servers look up about each other, on a connection apart from the beats.
pub struct ClusterRows {
    /// This server.
    pub(super) id: Uuid,
    pub(super) client: DatabaseClient,
    connected_at: Instant,
}

impl ClusterRows {
    /// Connects for a server that has joined.
    ///
    /// # Errors
    /// Returns why there is no connection.
    pub async fn connect(address: &DatabaseAddress, id: Uuid) -> Result<Self, DatabaseError> {
        Ok(Self { id, client: connected(address).await?, connected_at: Instant::now() })
    }

    async fn declare(&self, how: &str, id: Uuid) -> Result<bool, DatabaseError> {
        let declared = async {
            let done = self.client.execute_typed(how, &[(&id, Type::UUID)]).await;
            done.map_err(DatabaseError::doing("declaring a server dead"))
        };
        Ok(limited(declared).await? > 0)
    }

    /// Returns the other servers whose last beat is more than three seconds old.
    ///
    /// # Errors
    /// Returns an error if the database does not answer.
    pub async fn late(&self) -> Result<Vec<OtherServer>, DatabaseError> {
        let found = limited(async {
            let found = self.client.query_typed(LATE, &[(&self.id, Type::UUID)]).await;
            found.map_err(DatabaseError::doing("looking for servers"))
        });
        let server =
            |row: &tokio_postgres::Row| OtherServer { id: row.get(0), address: row.get(1), is_over: row.get(2) };
        Ok(found.await?.iter().map(server).collect())
    }

    /// Declares a server dead whose time is over. Returns whether it did.
    ///
    /// # Errors
    /// Returns an error if the database does not answer.
    pub async fn declare_over(&self, id: Uuid) -> Result<bool, DatabaseError> {
        if self.connected_at.elapsed() < RETURN_TIME {
            return Ok(false);
        }
        self.declare(DECLARE_LAPSED, id).await
    }

    /// Declares a server dead that refuses connections, if its own connection to the database is gone, too. Returns whether it
    /// did.
    ///
    /// # Errors
    /// Returns an error if the database does not answer.
    pub async fn declare_crashed(&self, id: Uuid) -> Result<bool, DatabaseError> {
        if !limited(try_lock(&self.client, id)).await? {
            return Ok(false);
        }
        let declared = self.declare(DECLARE_CRASHED, id).await;
        let unlocked = limited(async {
            let unlock = "SELECT pg_advisory_unlock($1)";
            let unlocked = self.client.execute_typed(unlock, &[(&lock_number(id), Type::INT8)]).await;
            unlocked.map_err(DatabaseError::doing("looking whether a server lives"))
        });
        // Without an answer, the connection is closed, and with it the lock is free.
        unlocked.await.and(declared)
    }

    /// Declares servers dead that are known to have ended: they ran in a folder that this process has now.
    ///
    /// # Errors
    /// Returns an error if the database does not answer.
    pub async fn declare_gone(&self, ids: &[Uuid]) -> Result<u64, DatabaseError> {
        let others: Vec<Uuid> = ids.iter().copied().filter(|id| *id != self.id).collect();
        limited(async {
            let done = self.client.execute_typed(DECLARE_GONE, &[(&others, Type::UUID_ARRAY)]).await;
            done.map_err(DatabaseError::doing("declaring a server dead"))
        })
        .await
    }

    /// Returns the address of the living server that owns the home of the server, or of its only person, without joining the cluster.
    ///
    /// # Errors
    /// Returns an error if the database cannot be used.
    pub async fn address_of_owner(address: &DatabaseAddress) -> Result<Option<String>, DatabaseError> {
        let rows = Self::connect(address, Uuid::nil()).await?;
        Ok(rows.owners_of(&[HomeId::Server.uuid()]).await?.pop().map(|(_, row)| row.address))
    }

    /// Returns the number of servers that live.
    ///
    /// # Errors
    /// Returns an error if the database does not answer.
    pub async fn count_living(&self) -> Result<usize, DatabaseError> {
        let found = limited(async {
            let found = self.client.query_typed_one(LIVING, &[]).await;
            found.map_err(DatabaseError::doing("counting servers"))
        });
        Ok(usize::try_from(found.await?.get::<_, i64>(0)).unwrap_or_default())
    }

    /// Returns homes with works under way that no other living server owns, at most `count`, without those that are open here.
    ///
    /// # Errors
    /// Returns an error if the database does not answer.
    pub async fn orphans(&self, count: u32, open: &[Uuid]) -> Result<Vec<HomeId>, DatabaseError> {
        let found = limited(async {
            let count = i64::from(count);
            let values: [Value<'_>; 4] =
                [(&FORMAT, Type::INT4), (&count, Type::INT8), (&self.id, Type::UUID), (&open, Type::UUID_ARRAY)];
            let found = self.client.query_typed(ORPHANS, &values).await;
            found.map_err(DatabaseError::doing("looking for homes without an owner"))
        });
        let key = |row: &tokio_postgres::Row| match row.get::<_, Option<&str>>(0) {
            None => Some(HomeId::Server),
            Some(account) => AccountId::parse(account).map(HomeId::Person),
        };
        Ok(found.await?.iter().filter_map(key).collect())
    }

    /// Returns the living servers that own these homes, each with its home.
    ///
    /// # Errors
    /// Returns an error if the database does not answer.
    pub async fn owners_of(&self, homes: &[Uuid]) -> Result<Vec<(Uuid, HomeOwnerRow)>, DatabaseError> {
        let found = limited(async {
            let found = self.client.query_typed(OWNERS, &[(&homes, Type::UUID_ARRAY)]).await;
            found.map_err(DatabaseError::doing("looking for the owners of homes"))
        });
        let owner = |row: &tokio_postgres::Row| {
            (row.get(0), HomeOwnerRow { server_id: row.get(1), fence: row.get(2), address: row.get(3) })
        };
        Ok(found.await?.iter().map(owner).collect())
    }
}

fn time_of(row: &tokio_postgres::Row) -> Duration {
    Duration::try_from_secs_f64(row.get(0)).unwrap_or_default()
}

async fn connected(address: &DatabaseAddress) -> Result<DatabaseClient, DatabaseError> {
    let database = limited(Database::connect(address)).await?;
    limited(async { database.schema().await?.require_migrated() }).await?;
    Ok(database.into_client())
}

/// Takes the lock of a server, unless its own connection has it.
async fn try_lock(client: &Client, id: Uuid) -> Result<bool, DatabaseError> {
    let locked = client.query_typed_one("SELECT pg_try_advisory_lock($1)", &[(&lock_number(id), Type::INT8)]).await;
    Ok(locked.map_err(DatabaseError::doing("looking whether a server lives"))?.get(0))
}

/// The number of a server's lock, among those of the database.
fn lock_number(id: Uuid) -> i64 {
    let (high, low) = id.as_u64_pair();
    (high ^ low) as i64
}

pub(super) async fn limited<T>(work: impl Future<Output = Result<T, DatabaseError>>) -> Result<T, DatabaseError> {
    tokio::time::timeout(LIMIT, work).await.unwrap_or_else(|_| {
        let reason = format!("it did not answer within {} seconds", LIMIT.as_secs());
        Err(DatabaseError::Interrupted { reason })
    })
}

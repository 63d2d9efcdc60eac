//! Taking a home: what the database has of it is read first, and the home is taken only if that is still so.

use crate::domain::HomeId;
use tokio_postgres::types::Type;
use uuid::Uuid;

use super::client::DatabaseClient;
use super::connection::{Database, answered};
use super::error::DatabaseError;
use super::home_rows::HomeRows;
use super::link::{Confirmed, OwnedRow, Value};
use super::rows::HomeDatabase;
use super::stored_home::UnreadHome;

/// What this version reads and writes.
pub(super) const FORMAT: i32 = 1;
/// The format of a home whose import is under way, or was interrupted: no version reads it.
pub(super) const IMPORTING: i32 = i32::MAX;

const TAKE: &str = "UPDATE homes SET owner = $2, last_owner = coalesce(owner, last_owner), fence = fence + 1 WHERE home_id = $1 AND fence \
    = $3 AND owner IS NOT DISTINCT FROM $4 AND files_commit IS NOT DISTINCT FROM $5 AND (last_no = 0) = $6 AND format = $7 AND ($8 OR \
    (EXISTS (SELECT FROM servers WHERE server_id = $2 AND NOT dead AND NOT draining) AND NOT EXISTS (SELECT FROM servers WHERE server_id \
    = $4 AND server_id <> $2 AND NOT dead))) RETURNING fence, last_no, files_commit";

/// Who takes a home.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claimant {
    /// A start of a server of its own, or a command. It takes the home from any other.
    Start(Uuid),
    /// A server of a cluster, which takes no home from another that lives.
    Member(Uuid),
}

impl Claimant {
    /// Returns a new start.
    pub fn start() -> Self {
        Self::Start(Uuid::new_v4())
    }

    pub fn id(self) -> Uuid {
        match self {
            Self::Start(id) | Self::Member(id) => id,
        }
    }
}

/// A home in a database before it is claimed.
pub struct FoundHome {
    database: HomeDatabase,
    client: DatabaseClient,
    home: Uuid,
    owner: Option<Uuid>,
    last_owner: Option<Uuid>,
    fence: i64,
    last_no: i64,
    files_commit: Option<Uuid>,
    /// Whether the owner is a server of a cluster that lives.
    is_owner_alive: bool,
    /// Whether any server of a cluster lives on this database.
    has_members: bool,
    format: i32,
}

impl FoundHome {
    /// Reads what there is, and changes nothing but that an unknown home gets its row.
    ///
    /// # Errors
    /// Returns why the database cannot be used, and [`DatabaseError::NewerHome`] if a newer version wrote the home.
    pub async fn find(of: &HomeDatabase, id: &HomeId) -> Result<Self, DatabaseError> {
        Self::find_row(of, (id.uuid(), id.person().map(|account| account.as_str()))).await
    }

    /// Makes a home that is of nobody and not of the server, for measurements.
    ///
    /// # Errors
    /// Returns why the database cannot be used.
    pub async fn apart(of: &HomeDatabase) -> Result<Self, DatabaseError> {
        Self::find_row(of, (Uuid::new_v4(), None)).await
    }

    async fn find_row(of: &HomeDatabase, row: (Uuid, Option<&str>)) -> Result<Self, DatabaseError> {
        let prepared = of.connections.take_prepared().map(|client| Database::of(&of.address, client));
        // It may have been lost without a word since it was made.
        if let Some(database) = prepared
            && let Ok(found) = Self::find_with(database, of, row).await
        {
            return Ok(found);
        }
        Self::find_with(Database::connect(&of.address).await?, of, row).await
    }

    async fn find_with(
        database: Database,
        of: &HomeDatabase,
        (home, account): (Uuid, Option<&str>),
    ) -> Result<Self, DatabaseError> {
        // What is asked together is answered one after the other, without waiting in between.
        let (_, schema) = tokio::try_join!(database.inspect(of.loss), database.schema())?;
        schema.require_migrated()?;
        let client = database.into_client();
        let doing = "looking at the home";
        let make = "INSERT INTO homes (home_id, account) VALUES ($1, $2) ON CONFLICT DO NOTHING";
        let row: [Value<'_>; 2] = [(&home, Type::UUID), (&account, Type::TEXT)];
        let find = "SELECT owner, last_owner, fence, last_no, files_commit, EXISTS (SELECT FROM servers WHERE server_id = owner AND NOT \
                    dead), EXISTS (SELECT FROM servers WHERE NOT dead AND alive_until > clock_timestamp()), format FROM homes WHERE home_id = $1 AND (format <= $2 OR format = $3)";
        let values: [Value<'_>; 3] = [(&home, Type::UUID), (&FORMAT, Type::INT4), (&IMPORTING, Type::INT4)];
        let made = answered(client.execute_typed(make, &row), doing);
        // In this order: the row has to be there.
        let (_, found) = tokio::try_join!(biased; made, answered(client.query_typed_opt(find, &values), doing))?;
        let found = found.ok_or(DatabaseError::NewerHome)?;
        Ok(Self {
            database: of.clone(),
            client,
            home,
            owner: found.get(0),
            last_owner: found.get(1),
            fence: found.get(2),
            last_no: found.get(3),
            files_commit: found.get(4),
            is_owner_alive: found.get(5),
            has_members: found.get(6),
            format: found.get(7),
        })
    }

    /// Returns the start of a server that owns it, or owned it last.
    pub fn owner(&self) -> Option<Uuid> {
        self.owner.or(self.last_owner)
    }

    /// Returns the id of its rows.
    pub fn id(&self) -> Uuid {
        self.home
    }

    /// Whether nothing was ever stored in it.
    pub fn is_new(&self) -> bool {
        self.last_no == 0
    }

    /// Whether an import is under way, or was interrupted: what is stored is a part of a home.
    pub fn is_incomplete(&self) -> bool {
        self.format == IMPORTING
    }

    /// Returns the last commit of files.
    pub fn files_commit(&self) -> Option<Uuid> {
        self.files_commit
    }

    /// Whether this member may not take it, because another one that lives owns it.
    pub fn is_held_from(&self, claimant: Claimant) -> bool {
        match claimant {
            Claimant::Start(_) => false,
            Claimant::Member(id) => self.is_owner_alive && self.owner != Some(id),
        }
    }

    /// Whether this is a server of its own, and those of a cluster would take the home from it again.
    pub fn is_of_cluster(&self, claimant: Claimant) -> bool {
        matches!(claimant, Claimant::Start(_)) && self.has_members
    }

    /// Whether its owner has not ended without a word: it gave the home up, or is this one itself.
    pub fn was_given_up_to(&self, claimant: Claimant) -> bool {
        self.owner.is_none_or(|owner| owner == claimant.id())
    }

    /// Takes the home: writes of its owner so far are refused from now on. Returns `None`, and takes nothing, if it is not
    /// as it was found any more, or if this member may not take it. Also returns the way to what is stored of it.
    ///
    /// # Errors
    /// Returns an error if the database does not answer; whether the home was taken is unknown then.
    pub async fn claim(self, claimant: Claimant) -> Result<Option<(HomeRows, UnreadHome)>, DatabaseError> {
        let (owner, is_new, was_given_up) = (claimant.id(), self.is_new(), self.was_given_up_to(claimant));
        let takes_any = matches!(claimant, Claimant::Start(_));
        let values: [Value<'_>; 8] = [
            (&self.home, Type::UUID),
            (&owner, Type::UUID),
            (&self.fence, Type::INT8),
            (&self.owner, Type::UUID),
            (&self.files_commit, Type::UUID),
            (&is_new, Type::BOOL),
            (&self.format, Type::INT4),
            (&takes_any, Type::BOOL),
        ];
        let taken = answered(self.client.query_typed_opt(TAKE, &values), "claiming the home").await?;
        Ok(taken.map(|row| {
            self.database.connections.counters().claimed(was_given_up);
            let owned = OwnedRow { home: self.home, owner, fence: row.get(0) };
            let confirmed = Confirmed { last_no: row.get(1), files_commit: row.get(2) };
            let unread = UnreadHome::new(self.home, self.client);
            (HomeRows::owned(self.database, owned, confirmed), unread)
        }))
    }
}

//! `accounts.json` of the home of a cluster's server, as all servers read it, and which of them have read it.

use crate::domain::HomeId;
use tokio_postgres::types::Type;

use super::error::DatabaseError;
use super::link::Value;
use super::rows::PieceHash;
use super::server_rows::{ClusterRows, limited};

const FILE: &[u8] = b"accounts.json";
/// In one statement, so that it is of one moment.
const READ: &str = "SELECT f.changed_no, f.pieces, ARRAY(SELECT p.bytes FROM unnest(f.pieces) WITH ORDINALITY AS u (sha256, at) JOIN pieces \
    p ON p.home_id = f.home_id AND p.sha256 = u.sha256 ORDER BY u.at) FROM files f WHERE f.home_id = $1 AND f.path = $2 AND f.kind = 1 \
    AND f.changed_no <> $3";
const HAS_PEOPLE: &str = "SELECT EXISTS (SELECT FROM homes WHERE account IS NOT NULL)";
const KNOW: &str = "UPDATE servers SET accounts_no = $2 WHERE server_id = $1 AND accounts_no <> $2";
const CURRENT: &str = "SELECT changed_no FROM files WHERE home_id = $1 AND path = $2";
const ARE_KNOWN: &str =
    "SELECT NOT EXISTS (SELECT FROM servers WHERE NOT dead AND alive_until > clock_timestamp() AND accounts_no < $1)";

/// A version of the file.
pub struct AccountsRow {
    /// The number of the change that made it.
    pub number: i64,
    /// Its pieces with their hashes, as they are stored.
    pub pieces: Vec<(PieceHash, Vec<u8>)>,
}

impl ClusterRows {
    /// Returns the accounts unless they are the version with this number; `None`, too, if there are none.
    ///
    /// # Errors
    /// Returns an error if the database does not answer, or if a piece is missing.
    pub async fn accounts(&self, known: i64) -> Result<Option<AccountsRow>, DatabaseError> {
        let home = HomeId::Server.uuid();
        let found = limited(async {
            let values: [Value<'_>; 3] = [(&home, Type::UUID), (&FILE, Type::BYTEA), (&known, Type::INT8)];
            let found = self.client.query_typed_opt(READ, &values).await;
            found.map_err(DatabaseError::doing("reading the accounts"))
        });
        let Some(row) = found.await? else { return Ok(None) };
        let (hashes, bytes): (Vec<&[u8]>, Vec<Vec<u8>>) = (row.get(1), row.get(2));
        let damaged = || DatabaseError::Damaged { what: "accounts.json".to_owned() };
        if hashes.len() != bytes.len() {
            return Err(damaged());
        }
        let pieces: Result<Vec<(PieceHash, Vec<u8>)>, DatabaseError> = hashes
            .into_iter()
            .zip(bytes)
            .map(|(hash, bytes)| Ok((hash.try_into().map_err(|_| damaged())?, bytes)))
            .collect();
        Ok(Some(AccountsRow { number: row.get(0), pieces: pieces? }))
    }

    /// Whether people have homes.
    ///
    /// # Errors
    /// Returns an error if the database does not answer.
    pub async fn has_people(&self) -> Result<bool, DatabaseError> {
        let found = limited(async {
            let found = self.client.query_typed_one(HAS_PEOPLE, &[]).await;
            found.map_err(DatabaseError::doing("looking for the homes of people"))
        });
        Ok(found.await?.get(0))
    }

    /// Says that this server knows the accounts of this version.
    ///
    /// # Errors
    /// Returns an error if the database does not answer.
    pub async fn know_accounts(&self, number: i64) -> Result<(), DatabaseError> {
        let said = limited(async {
            let values: [Value<'_>; 2] = [(&self.id, Type::UUID), (&number, Type::INT8)];
            let said = self.client.execute_typed(KNOW, &values).await;
            said.map_err(DatabaseError::doing("saying which accounts this server knows"))
        });
        said.await.map(drop)
    }

    /// Returns the number of the last change of the accounts; 0 if there are none.
    ///
    /// # Errors
    /// Returns an error if the database does not answer.
    pub async fn accounts_number(&self) -> Result<i64, DatabaseError> {
        let home = HomeId::Server.uuid();
        let found = limited(async {
            let values: [Value<'_>; 2] = [(&home, Type::UUID), (&FILE, Type::BYTEA)];
            let found = self.client.query_typed_opt(CURRENT, &values).await;
            found.map_err(DatabaseError::doing("reading the accounts"))
        });
        Ok(found.await?.map_or(0, |row| row.get(0)))
    }

    /// Whether all servers that live know the accounts of this version.
    ///
    /// # Errors
    /// Returns an error if the database does not answer.
    pub async fn accounts_are_known(&self, number: i64) -> Result<bool, DatabaseError> {
        let found = limited(async {
            let found = self.client.query_typed_one(ARE_KNOWN, &[(&number, Type::INT8)]).await;
            found.map_err(DatabaseError::doing("looking whether all servers know the accounts"))
        });
        Ok(found.await?.get(0))
    }
}

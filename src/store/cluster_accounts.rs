//! The accounts of a cluster, read from the database by a server that may not have the home that they are in.

use super::postgres::{AccountsRow, ClusterRows, DatabaseError};
use super::replica::PIECE;
use super::sha256_bytes;
use crate::domain::AccountBook;

/// The accounts as they are in the database.
pub struct ClusterAccounts {
    /// Of the change that made them; higher after each change.
    pub number: i64,
    pub book: AccountBook,
}

impl ClusterAccounts {
    /// Returns the accounts unless they are those with this number.
    ///
    /// # Errors
    /// Returns an error if the database does not answer, if it has homes of people and no accounts, or if they are damaged.
    pub async fn newer(rows: &ClusterRows, known: i64) -> Result<Option<Self>, DatabaseError> {
        let Some(row) = rows.accounts(known).await? else {
            // Without the accounts, a stranger could make the first one.
            return match known == 0 && rows.has_people().await? && rows.accounts_number().await? == 0 {
                true => Err(DatabaseError::Damaged { what: "accounts.json".to_owned() }),
                false => Ok(None),
            };
        };
        // Thousands of accounts take a while.
        let read = tokio::task::spawn_blocking(move || Self::of(row)).await;
        read.map_err(|_| DatabaseError::Damaged { what: "accounts.json".to_owned() })?.map(Some)
    }

    fn of(AccountsRow { number, pieces }: AccountsRow) -> Result<Self, DatabaseError> {
        let damaged = || DatabaseError::Damaged { what: "accounts.json".to_owned() };
        let mut bytes = Vec::new();
        for (hash, packed) in pieces {
            let piece = zstd::bulk::decompress(&packed, PIECE).map_err(|_| damaged())?;
            if sha256_bytes(&piece) != hash {
                return Err(damaged());
            }
            bytes.extend(piece);
        }
        let book: AccountBook = serde_json::from_slice(&bytes).map_err(|_| damaged())?;
        book.check().map_err(|_| damaged())?;
        Ok(Self { number, book })
    }
}

//! A home whose truth is a database, as its users see it: whether it is still theirs, and giving it up.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::Replica;
use super::storing::Extent;
use crate::domain::InterruptedWork;
use crate::store::error::StoreError;
use crate::store::home::Home;
use crate::store::postgres::DatabaseFigures;

/// How often changes of other programs are looked for.
const LOOK: Duration = Duration::from_secs(3);

impl Home {
    /// Returns a token that is cancelled once another server has taken the home over; `None` for a home in files.
    pub fn taken_over(&self) -> Option<CancellationToken> {
        self.replica().map(|replica| replica.rows.lost().clone())
    }

    /// Returns a token that is cancelled once another server of the cluster may have the home; `None` if there is no cluster.
    pub fn moved(&self) -> Option<CancellationToken> {
        let is_of_member = |replica: &&Arc<Replica>| replica.interrupted != InterruptedWork::Ends;
        self.replica().filter(is_of_member).map(|replica| replica.rows.lost().clone())
    }

    /// Whether the truth of the home is a database.
    pub fn is_in_database(&self) -> bool {
        self.replica().is_some()
    }

    /// Returns the code of why the database behind the home cannot be used now; `None` if it can, or if there is none.
    pub async fn database_problem(&self) -> Option<&'static str> {
        let replica = self.replica()?;
        replica.ownership.problem(&replica.rows).await
    }

    /// Returns what this process has done with the database behind the home; `None` if there is none.
    pub fn database_figures(&self) -> Option<DatabaseFigures> {
        self.replica().map(|replica| replica.rows.figures())
    }

    /// Whether the database behind the home has gone back, so that nothing is stored any more. The home is still this server's.
    pub fn has_gone_back(&self) -> bool {
        self.replica().is_some_and(|replica| replica.rows.has_gone_back())
    }

    /// Gives the home up in the database as it is stored there.
    ///
    /// # Errors
    /// Returns an error if the database does not answer.
    pub async fn release_claim(&self) -> Result<(), StoreError> {
        match self.replica() {
            Some(replica) => Ok(replica.rows.release().await?),
            None => Ok(()),
        }
    }

    /// Gives up a home in a database without storing anything more: every write is refused from now on, and those that wait
    /// for the database end.
    pub fn give_up(&self) {
        if let Some(replica) = self.replica() {
            replica.rows.lost().cancel();
        }
    }

    /// Stores regularly what other programs changed, until the home is closed.
    pub fn store_regularly(&self) {
        let Some(replica) = self.replica().map(Arc::downgrade) else { return };
        let home = self.downgrade();
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(LOOK).await;
                let (Some(replica), Some(home)) = (replica.upgrade(), home.upgrade()) else { break };
                if replica.rows.is_void() {
                    break;
                }
                let stored = match replica.store(&home, Extent::Regular).await {
                    Ok(()) => replica.drop_pieces().await,
                    error => error,
                };
                if let Err(error) = stored {
                    tracing::warn!(%error, "what changed in the home could not be stored in the database");
                }
            }
        });
    }
}

//! The accounts of a cluster. Only the server with the home of the server changes them; all read them from the database several
//! times a second, and a change has happened once all servers that live have read it.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::People;
use crate::cluster::Cluster;
use crate::domain::{AccountBook, AccountId, HomeId};
use crate::store::DatabaseError;

/// Time between two looks at the accounts.
const LOOK: Duration = Duration::from_millis(200);
/// Time without a look after which nobody is let in: an account may have been disabled.
const STALE: Duration = Duration::from_secs(5);
/// Time without a look after which a server gives up its homes: one of them may be of somebody who was disabled.
const BLIND: Duration = Duration::from_secs(8);
/// How long a change waits for the other servers. Whoever has not read it by then has given up its homes.
const PATIENCE: Duration = Duration::from_secs(12);
/// Pause between two looks at who has read a change.
const PAUSE: Duration = Duration::from_millis(40);

/// What a server of a cluster knows of the accounts.
pub(super) struct Followed {
    cluster: Arc<Cluster>,
    /// The number of the accounts that it knows.
    number: tokio::sync::Mutex<i64>,
    looked_at: Mutex<Instant>,
    /// In how many homes works are being ended because of the accounts.
    closing: Arc<AtomicUsize>,
}

impl Followed {
    /// `number` is that of the accounts that were read last.
    pub fn new(cluster: Arc<Cluster>, number: i64) -> Self {
        Self {
            cluster,
            number: tokio::sync::Mutex::new(number),
            looked_at: Mutex::new(Instant::now()),
            closing: Arc::default(),
        }
    }

    /// Waits until all servers that live know the accounts as they are stored now, also while the database does not answer.
    async fn until_known(&self) {
        let number = loop {
            match self.cluster.accounts_number().await {
                Ok(number) => break number,
                Err(_) => tokio::time::sleep(PAUSE).await,
            }
        };
        while !self.cluster.accounts_are_known(number).await.unwrap_or(false) {
            tokio::time::sleep(PAUSE).await;
        }
    }

    fn since_look(&self) -> Duration {
        self.looked_at.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
    }
}

impl People {
    /// Whether the accounts are known as they are, so that it can be decided who is let in.
    pub fn is_current(&self) -> bool {
        self.followed.as_ref().is_none_or(|followed| followed.since_look() < STALE)
    }

    /// Reads the accounts again and again, as long as anybody needs them.
    pub(super) fn follow(self: &Arc<Self>) {
        let people = Arc::downgrade(self);
        tokio::spawn(async move {
            let mut had_problem = false;
            loop {
                tokio::time::sleep(LOOK).await;
                let Some(people) = people.upgrade() else { return };
                let looked = people.look_in_time().await;
                if let Err(error) = &looked
                    && !had_problem
                {
                    tracing::warn!(%error, "the accounts could not be read");
                }
                had_problem = looked.is_err();
            }
        });
    }

    /// Looks at the accounts. While that does not succeed for too long, this server gives up its homes.
    async fn look_in_time(self: &Arc<Self>) -> Result<(), DatabaseError> {
        let Some(followed) = &self.followed else { return Ok(()) };
        let looking = self.look();
        tokio::pin!(looking);
        loop {
            let is_blind = followed.since_look() >= BLIND;
            followed.cluster.set_silent(is_blind);
            tokio::select! {
                looked = &mut looking => return looked,
                () = tokio::time::sleep(LOOK) => {}
            }
        }
    }

    /// Reads the accounts if they have changed, closes the homes of those who may not use theirs any more, and says that this server
    /// knows the accounts once nothing runs there.
    pub(super) async fn look(self: &Arc<Self>) -> Result<(), DatabaseError> {
        let Some(followed) = &self.followed else { return Ok(()) };
        let mut number = followed.number.lock().await;
        // What is read is at least as new.
        let began = Instant::now();
        if let Some(accounts) = followed.cluster.accounts(*number).await? {
            let before = self.book.send_replace(Arc::new(accounts.book));
            *number = accounts.number;
            self.tell_tenants();
            self.close_homes_after(&before);
        }
        if followed.closing.load(Ordering::SeqCst) == 0 {
            followed.cluster.know_accounts(*number).await?;
        }
        *followed.looked_at.lock().unwrap_or_else(PoisonError::into_inner) = began;
        Ok(())
    }

    /// Closes the homes here of the people who were active before and are not any more, and of those who are again.
    fn close_homes_after(self: &Arc<Self>, before: &AccountBook) {
        let Some(followed) = &self.followed else { return };
        let (before, now) = (active(before), active(&self.book()));
        for account in before.symmetric_difference(&now).cloned() {
            followed.closing.fetch_add(1, Ordering::SeqCst);
            let (tenants, closing) = (self.tenants.clone(), followed.closing.clone());
            tokio::spawn(async move {
                let ended = || {
                    closing.fetch_sub(1, Ordering::SeqCst);
                };
                tenants.close_telling(&HomeId::Person(account), ended).await;
            });
        }
    }

    /// Whether the home of a person is on another server of a cluster: what this one has of it is old, or nothing.
    pub(super) fn is_elsewhere(&self, account: &AccountId) -> bool {
        self.followed.is_some() && self.tenants.is_elsewhere(&HomeId::from(account))
    }

    /// Waits until all servers of the cluster know the accounts as they are stored now.
    pub(super) async fn until_all_know(&self) {
        let Some(followed) = &self.followed else { return };
        if tokio::time::timeout(PATIENCE, followed.until_known()).await.is_err() {
            tracing::warn!("a server has not read a change of the accounts in time");
        }
    }
}

fn active(book: &AccountBook) -> HashSet<AccountId> {
    book.accounts.iter().filter(|account| account.is_active).map(|account| account.id.clone()).collect()
}

//! Facts on their way to the database. One task stores them: what waits while a statement is under way goes together in the next one.

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};
use tokio_postgres::Client;
use tokio_postgres::types::Type;

use super::error::DatabaseError;
use super::link::{Attempt, HomeLink, Write};
use super::rows::{FactDurability, FactRow, SessionFacts};

/// How many appends wait, each of one session.
const WAITING: usize = 1024;
/// Maximum number of appends in one statement, and about how many bytes they have.
const BATCH: usize = 256;
const BATCH_BYTES: usize = 4 << 20;

/// `append_facts` is of migration 7.
const APPEND: &str = "SELECT append_facts($1, $2, $3, $4, $5, $6, $7, $8)";
const FIND: &str = "SELECT t.session FROM unnest($2, $3) AS t (session, seq) JOIN facts ON facts.home_id = $1 AND facts.session_id = \
    t.session AND facts.seq = t.seq";
const READ: &str = "SELECT seq, body FROM facts WHERE home_id = $1 AND session_id = $2 AND seq = ANY($3) ORDER BY seq";

/// The way in. The task ends when it is dropped.
pub(super) struct FactQueue {
    sender: mpsc::Sender<Append>,
}

/// Facts of one session.
struct Append {
    of: SessionFacts,
    durability: FactDurability,
    stored: oneshot::Sender<Result<(), DatabaseError>>,
}

struct Batch<'a>(Vec<&'a Append>);

impl FactQueue {
    pub fn new(link: Arc<HomeLink>) -> Self {
        let (sender, receiver) = mpsc::channel(WAITING);
        tokio::spawn(store(link, receiver));
        Self { sender }
    }

    /// Stores facts of a session, all or none. They are stored even if the caller goes away.
    pub async fn append(&self, of: SessionFacts, durability: FactDurability) -> Result<(), DatabaseError> {
        let (stored, outcome) = oneshot::channel();
        let ended = || DatabaseError::Interrupted { reason: "the server is stopping".to_owned() };
        self.sender.send(Append { of, durability, stored }).await.map_err(|_| ended())?;
        outcome.await.map_err(|_| ended())?
    }
}

async fn store(link: Arc<HomeLink>, mut waiting: mpsc::Receiver<Append>) {
    while let Some(first) = waiting.recv().await {
        let mut size = first.size();
        let mut appends = vec![first];
        while appends.len() < BATCH && size < BATCH_BYTES {
            let Ok(next) = waiting.try_recv() else { break };
            size += next.size();
            appends.push(next);
        }
        let outcome = link.write(&Batch(appends.iter().collect())).await;
        let is_refused = matches!(outcome, Err(DatabaseError::Failed { .. } | DatabaseError::AlreadyThere));
        let is_of_all = !is_refused || appends.len() == 1;
        for append in appends {
            // One session's facts that the database refuses are in nobody else's way.
            let outcome = match is_of_all {
                true => outcome.clone(),
                false => link.write(&Batch(vec![&append])).await,
            };
            // Whoever waited may be gone.
            let _ = append.stored.send(outcome);
        }
    }
}

impl Append {
    fn size(&self) -> usize {
        self.of.facts.iter().map(|fact| fact.body.len()).sum()
    }
}

impl Write for Batch<'_> {
    async fn once(&self, link: &HomeLink, client: &mut Client, attempt: Attempt) -> Result<(), DatabaseError> {
        if attempt == Attempt::Repeated && self.is_stored(link, client).await? {
            return Ok(());
        }
        let (sessions, numbers) = self.keys();
        let bodies: Vec<&[u8]> = self.facts().map(|(_, fact)| &*fact.body).collect();
        let is_synced = self.durability() == FactDurability::Synced;
        let least = link.least_no();
        let [home, fence, owner, least] = link.identity(&least);
        let values = [
            home,
            fence,
            owner,
            least,
            (&sessions, Type::TEXT_ARRAY),
            (&numbers, Type::INT8_ARRAY),
            (&bodies, Type::BYTEA_ARRAY),
            (&is_synced, Type::BOOL),
        ];
        let stored = client.query_typed_one(APPEND, &values).await.map_err(DatabaseError::doing("storing facts"));
        let stored = match stored {
            // The attempt before was still being committed when it was looked for.
            Err(DatabaseError::AlreadyThere) if self.is_stored(link, client).await? => return Ok(()),
            stored => stored?,
        };
        let Some(number) = stored.get(0) else { return Err(link.refusal(client).await) };
        link.confirm(number, self.durability());
        Ok(())
    }
}

impl Batch<'_> {
    fn facts(&self) -> impl Iterator<Item = (&str, &FactRow)> {
        self.0.iter().flat_map(|append| append.of.facts.iter().map(|fact| (append.of.session.as_str(), fact)))
    }

    fn keys(&self) -> (Vec<&str>, Vec<i64>) {
        self.facts().map(|(session, fact)| (session, fact.seq)).unzip()
    }

    fn durability(&self) -> FactDurability {
        match self.0.iter().all(|append| append.durability == FactDurability::Relaxed) {
            true => FactDurability::Relaxed,
            false => FactDurability::Synced,
        }
    }

    /// Whether these facts are stored already: a batch is stored all or none.
    async fn is_stored(&self, link: &HomeLink, client: &Client) -> Result<bool, DatabaseError> {
        let (sessions, numbers) = self.keys();
        let doing = || DatabaseError::doing("looking for facts");
        let home = (&link.owned.home as _, Type::UUID);
        let keys = [home.clone(), (&sessions as _, Type::TEXT_ARRAY), (&numbers as _, Type::INT8_ARRAY)];
        let found = client.query_typed(FIND, &keys).await.map_err(doing())?.len();
        if found == 0 {
            return Ok(false);
        }
        for Append { of, .. } in &self.0 {
            let numbers: Vec<i64> = of.facts.iter().map(|fact| fact.seq).collect();
            let values = [home.clone(), (&of.session as _, Type::TEXT), (&numbers as _, Type::INT8_ARRAY)];
            let rows = client.query_typed(READ, &values).await.map_err(doing())?;
            let stored: Vec<FactRow> = rows.iter().map(|row| FactRow { seq: row.get(0), body: row.get(1) }).collect();
            if stored != of.facts {
                return Err(DatabaseError::Fenced);
            }
        }
        Ok(true)
    }
}

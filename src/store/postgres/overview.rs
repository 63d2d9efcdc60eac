//! What an admin looks at: the servers of a cluster, and who owns which home.

use std::time::{Duration, Instant};

use tokio_postgres::types::Type;
use uuid::Uuid;

use super::error::DatabaseError;
use super::server_rows::{ClusterRows, limited};

/// Those that live, and those that have ended within a day or still own homes.
const SERVERS: &str = "SELECT server_id, address, version, load, draining, dead, alive_until < clock_timestamp(), \
    extract(epoch FROM clock_timestamp() - alive_until)::float8 + 10, count(home_id) FROM servers LEFT JOIN homes ON owner = server_id \
    WHERE NOT dead OR alive_until > clock_timestamp() - interval '1 day' OR home_id IS NOT NULL GROUP BY server_id \
    ORDER BY dead, address, server_id LIMIT 200";
const HOMES: &str = "SELECT h.home_id, s.address, s.dead, h.fence, h.last_no, \
    coalesce(f.sessions, 0), count(*) OVER () FROM homes h LEFT JOIN servers s ON s.server_id = h.owner LEFT JOIN (SELECT home_id, \
    count(DISTINCT session_id) AS sessions FROM facts GROUP BY home_id) f USING (home_id) ORDER BY 6 DESC, h.home_id LIMIT $1";

/// The servers and homes of a cluster, at one moment.
#[derive(Clone, Debug)]
pub struct ClusterOverview {
    pub servers: Vec<ServerOverview>,
    /// Those with the most conversations under way.
    pub homes: Vec<HomeOverview>,
    /// Number of all homes.
    pub home_count: u64,
    /// How long the database took for one small question.
    pub round_trip: Duration,
}

#[derive(Clone, Debug)]
pub struct ServerOverview {
    pub id: Uuid,
    pub address: String,
    pub version: String,
    pub works: u64,
    pub state: ServerState,
    pub since_beat: Duration,
    /// Number of homes that it owns.
    pub homes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerState {
    Alive,
    /// It stops: it takes no home any more.
    Draining,
    /// Its time is over, and nobody has declared it dead yet.
    Late,
    Dead,
}

#[derive(Clone, Debug)]
pub struct HomeOverview {
    pub id: Uuid,
    /// The address of the living server that owns it.
    pub owner: Option<String>,
    /// How often it was claimed.
    pub fence: i64,
    /// The number of its last change.
    pub last_change: i64,
    /// Number of conversations whose last facts are in no session file yet.
    pub conversations_under_way: u64,
}

impl ClusterRows {
    /// Returns the servers and homes, at most `homes` of them.
    ///
    /// # Errors
    /// Returns an error if the database does not answer.
    pub async fn overview(&self, homes: u32) -> Result<ClusterOverview, DatabaseError> {
        let doing = || DatabaseError::doing("looking at the cluster");
        let asked_at = Instant::now();
        limited(async { self.client.query_typed_one("SELECT 1", &[]).await.map_err(doing()) }).await?;
        let round_trip = asked_at.elapsed();
        let servers = limited(async { self.client.query_typed(SERVERS, &[]).await.map_err(doing()) }).await?;
        let count = i64::from(homes);
        let homes = limited(async { self.client.query_typed(HOMES, &[(&count, Type::INT8)]).await.map_err(doing()) });
        let homes = homes.await?;
        Ok(ClusterOverview {
            servers: servers.iter().map(server).collect(),
            home_count: homes.first().map_or(0, |row| number(row, 6)),
            homes: homes.iter().map(home).collect(),
            round_trip,
        })
    }
}

fn server(row: &tokio_postgres::Row) -> ServerOverview {
    let (load, is_draining, is_dead, is_over): (f32, bool, bool, bool) =
        (row.get(3), row.get(4), row.get(5), row.get(6));
    let state = match (is_dead, is_over, is_draining) {
        (true, ..) => ServerState::Dead,
        (_, true, _) => ServerState::Late,
        (_, _, true) => ServerState::Draining,
        _ => ServerState::Alive,
    };
    ServerOverview {
        id: row.get(0),
        address: row.get(1),
        version: row.get(2),
        works: load.max(0.0) as u64,
        state,
        since_beat: Duration::try_from_secs_f64(row.get(7)).unwrap_or_default(),
        homes: number(row, 8),
    }
}

fn home(row: &tokio_postgres::Row) -> HomeOverview {
    let (address, is_dead): (Option<String>, Option<bool>) = (row.get(1), row.get(2));
    HomeOverview {
        id: row.get(0),
        owner: address.filter(|_| is_dead == Some(false)),
        fence: row.get(3),
        last_change: row.get(4),
        conversations_under_way: number(row, 5),
    }
}

fn number(row: &tokio_postgres::Row, column: usize) -> u64 {
    u64::try_from(row.get::<_, i64>(column)).unwrap_or_default()
}

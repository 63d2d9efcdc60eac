//! The servers of a cluster and who owns which home, for those who run it.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Serialize;

use crate::api::app::App;
use crate::api::error::{ApiError, ErrorBody};
use crate::api::security::caller::Caller;
use crate::api::security::person::Right;
use crate::store::{HomeOverview, ServerOverview, ServerState};

/// Maximum number of homes that are listed.
const MAX_HOMES: u32 = 100;

#[derive(Serialize, utoipa::ToSchema)]
pub struct ClusterView {
    /// Id of the server that answers: the one that owns the home of whoever asks.
    this_server: String,
    /// Seconds that the database takes for one small question of this server.
    database_seconds: f64,
    servers: Vec<ServerInfo>,
    /// Those with the most conversations under way, at most 100.
    homes: Vec<HomeInfo>,
    /// Number of all homes.
    home_count: u64,
}

/// A server of the cluster. Those that ended more than a day ago are left out.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = ClusterServer)]
pub struct ServerInfo {
    /// New at every start.
    id: String,
    /// Where the other servers reach it.
    address: String,
    version: String,
    state: StateWord,
    /// Number of works under way.
    works: u64,
    /// Number of homes that it owns.
    homes: u64,
    /// Seconds since it last said that it lives. It does so every two seconds.
    since_beat: f64,
}

#[derive(Serialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = ClusterServerState)]
pub enum StateWord {
    Alive,
    /// It stops: it takes no home any more.
    Draining,
    /// It has said nothing for ten seconds, and will be declared dead.
    Late,
    Dead,
}

#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = ClusterHome)]
pub struct HomeInfo {
    id: String,
    /// The address of the server that owns it; null if none that lives does.
    owner: Option<String>,
    /// How often it was claimed.
    fence: i64,
    /// The number of its last change.
    last_change: i64,
    /// Number of conversations whose last facts are in no session file yet: their works are under way, or were cut off.
    conversations_under_way: u64,
}

/// Returns the servers of the cluster and who owns which home. Only for those who run the server; 404 `no_cluster` if it is in none.
#[utoipa::path(get, path = "/api/cluster", tag = "status",
    responses((status = 200, body = ClusterView), (status = 404, body = ErrorBody)))]
pub async fn cluster(State(app): State<App>, caller: Caller) -> Result<Json<ClusterView>, ApiError> {
    caller.require(Right::ManageServer)?;
    let Some((this_server, overview)) = app.tenants.cluster_overview(MAX_HOMES).await? else {
        let message = "this server is in no cluster; `store` in config.yml can make it a member of one";
        return Err(ApiError::new(StatusCode::NOT_FOUND, "no_cluster", message));
    };
    Ok(Json(ClusterView {
        this_server: this_server.to_string(),
        database_seconds: overview.round_trip.as_secs_f64(),
        servers: overview.servers.into_iter().map(server).collect(),
        homes: overview.homes.into_iter().map(home).collect(),
        home_count: overview.home_count,
    }))
}

fn server(server: ServerOverview) -> ServerInfo {
    ServerInfo {
        id: server.id.to_string(),
        address: server.address,
        version: server.version,
        state: match server.state {
            ServerState::Alive => StateWord::Alive,
            ServerState::Draining => StateWord::Draining,
            ServerState::Late => StateWord::Late,
            ServerState::Dead => StateWord::Dead,
        },
        works: server.works,
        homes: server.homes,
        since_beat: server.since_beat.as_secs_f64(),
    }
}

fn home(home: HomeOverview) -> HomeInfo {
    HomeInfo {
        id: home.id.to_string(),
        owner: home.owner,
        fence: home.fence,
        last_change: home.last_change,
        conversations_under_way: home.conversations_under_way,
    }
}

//! An account as clients see it.

use serde::Serialize;

use crate::clock;
use crate::domain::{Account, AccountRole, WrittenLimits};

#[derive(Serialize, utoipa::ToSchema)]
pub struct User {
    pub id: String,
    pub username: String,
    pub email: Option<String>,
    pub avatar: Option<String>,
    pub role: AccountRole,
    pub is_active: bool,
    /// RFC 3339, UTC.
    pub created_at: String,
    /// RFC 3339, UTC; null if the person has never signed in.
    pub last_login_at: Option<String>,
    /// The limits that an admin has set for this person, in place of those of the server. Absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<WrittenLimits>,
}

impl From<Account> for User {
    fn from(account: Account) -> Self {
        Self {
            id: account.id.to_string(),
            username: account.username,
            email: account.email,
            avatar: account.avatar,
            role: account.role,
            is_active: account.is_active,
            created_at: clock::rfc3339(account.created_at),
            last_login_at: account.last_login_at.map(clock::rfc3339),
            limits: account.limits,
        }
    }
}

impl User {
    /// Returns the one person of a single-person server, as the NanoClaw document names them.
    pub fn of_single_server(started_at: f64) -> Self {
        Self {
            id: "default".to_owned(),
            username: "default".to_owned(),
            email: None,
            avatar: None,
            role: AccountRole::Admin,
            is_active: true,
            created_at: clock::rfc3339(started_at),
            last_login_at: None,
            limits: None,
        }
    }
}

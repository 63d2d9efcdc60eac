//! Which home of a server.

use std::fmt;

use super::AccountId;

/// Names a home of a server, also among several servers that have one database.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum HomeId {
    /// The home of the server: that of its only person, or nobody's if several people use it.
    Server,
    /// The home of one of several people.
    Person(AccountId),
}

impl HomeId {
    /// Returns the person whose home it is.
    pub fn person(&self) -> Option<&AccountId> {
        match self {
            Self::Server => None,
            Self::Person(account) => Some(account),
        }
    }
}

impl From<&AccountId> for HomeId {
    fn from(account: &AccountId) -> Self {
        Self::Person(account.clone())
    }
}

impl fmt::Display for HomeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Server => f.write_str("of the server"),
            Self::Person(account) => write!(f, "of {account}"),
        }
    }
}

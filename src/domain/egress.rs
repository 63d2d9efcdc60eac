//! Network access of commands: a proxy checks every address that a command requests, and lists the attempts.

use serde::Serialize;
use serde_json::{Value, json};

use super::mask::Mask;

/// Maximum number of hosts listed per command; nobody would read a longer list.
pub const MAX_HOSTS: usize = 200;
/// Maximum bytes kept of a host's name. No valid name is longer, but a command may request any.
pub const MAX_NAME: usize = 260;
/// Maximum number of hosts named to the model; a person sees the whole list.
const TOLD: usize = 10;

/// Returns the beginning of a host's name, as it is listed.
pub fn short(host: &str) -> &str {
    &host[..host.floor_char_boundary(MAX_NAME)]
}

/// A host that a command tried to reach.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, utoipa::ToSchema)]
pub struct EgressAttempt {
    /// `name`, or `name:port` unless the port is 80 or 443.
    pub host: String,
    /// Whether it was not connected: a private address, a port that web servers do not use, an unknown name, or no
    /// network at that time.
    pub refused: bool,
}

/// The hosts that a command tried to reach.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EgressAttempts {
    /// Each attempt once, sorted by host.
    pub hosts: Vec<EgressAttempt>,
    /// Number of attempts to reach hosts for which the list had no room.
    pub more: u64,
}

impl EgressAttempts {
    pub fn is_empty(&self) -> bool {
        self.hosts.is_empty() && self.more == 0
    }

    /// Adds an attempt that was refused, or counts it if the list has no room. Returns whether its host is new in the list.
    pub fn refuse(&mut self, host: &str) -> bool {
        let attempt = EgressAttempt { host: short(host).to_owned(), refused: true };
        match self.hosts.binary_search(&attempt) {
            Ok(_) => false,
            Err(_) if self.hosts.len() >= MAX_HOSTS => {
                self.more = self.more.saturating_add(1);
                false
            }
            Err(at) => {
                self.hosts.insert(at, attempt);
                true
            }
        }
    }

    /// Returns the attempts of two commands together. Those for which the list has no room are counted.
    pub fn merged(mut self, other: Self) -> Self {
        self.hosts.extend(other.hosts);
        self.hosts.sort();
        self.hosts.dedup();
        let surplus = self.hosts.len().saturating_sub(MAX_HOSTS);
        self.hosts.truncate(MAX_HOSTS);
        Self { more: self.more.saturating_add(other.more).saturating_add(surplus as u64), ..self }
    }

    /// Returns the attempts with secrets hidden in the names of hosts.
    #[must_use]
    pub fn masked(mut self, mask: &Mask) -> Self {
        for attempt in &mut self.hosts {
            attempt.host = mask.text(&attempt.host).into_owned();
        }
        self.hosts.sort();
        self.hosts.dedup();
        self
    }

    /// Adds the attempts to what a view shows of a call: `contacts`, and `more_contacts` if some are not listed.
    pub fn add_to(&self, data: &mut Value) {
        if self.is_empty() {
            return;
        }
        data["contacts"] = json!(self.hosts);
        if self.more > 0 {
            data["more_contacts"] = json!(self.more);
        }
    }

    /// Returns a short line for the model; `None` without attempts.
    pub fn line(&self) -> Option<String> {
        if self.is_empty() {
            return None;
        }
        let told = self.hosts.iter().take(TOLD).map(|contact| match contact.refused {
            true => format!("{} (refused)", contact.host),
            false => contact.host.clone(),
        });
        let mut line = told.collect::<Vec<_>>().join(", ");
        match self.hosts.len().saturating_sub(TOLD) as u64 + self.more {
            0 => {}
            more => line.push_str(&format!(" and {more} more")),
        }
        Some(format!("[network: {line}]"))
    }
}

/// Issues grants. A command reaches the network only through the proxy.
pub trait EgressProxy: Send + Sync + std::fmt::Debug {
    /// Issues a grant for one command of a person, by the user that their commands run as; `None` on a server of one person.
    /// Dropping it closes the connections that the command opened.
    fn issue(&self, person: Option<u32>) -> Box<dyn EgressGrant>;
}

/// The right of one command to use the proxy.
pub trait EgressGrant: Send + Sync {
    /// Returns the only port of the loopback interface that the command may connect to.
    fn port(&self) -> u16;

    /// Returns the proxy's address with the credentials of this grant, in the form of `HTTP_PROXY`.
    fn proxy(&self) -> String;

    /// Restricts it to these hosts: `name`, or `name:port`. Everything else is refused from now on.
    fn limit_to(&self, hosts: Vec<String>);

    /// Closes all connections and refuses new ones until [`EgressGrant::resume`].
    fn suspend(&self);

    /// Accepts the credentials again.
    fn resume(&self);

    /// Returns the attempts since the last call of this function.
    fn take_attempts(&self) -> EgressAttempts;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refused_hosts_are_listed_once_up_to_a_bound() {
        let mut attempts = EgressAttempts::default();
        assert!(attempts.refuse("b.test") && attempts.refuse("a.test") && !attempts.refuse("b.test"));
        assert!(attempts.refuse(&"é".repeat(9_000)));
        let names: Vec<_> = attempts.hosts.iter().map(|attempt| (attempt.host.len(), attempt.refused)).collect();
        assert_eq!((names, attempts.more), (vec![(6, true), (6, true), (MAX_NAME, true)], 0));
        let listed = (0..MAX_HOSTS).filter(|number| attempts.refuse(&format!("{number}.test"))).count();
        assert_eq!((listed, attempts.hosts.len(), attempts.more), (MAX_HOSTS - 3, MAX_HOSTS, 3));
        assert!(!attempts.refuse("a.test") && attempts.more == 3);
        let mut others = EgressAttempts::default();
        assert!(others.refuse("zz.test"));
        let both = attempts.merged(others);
        assert_eq!((both.hosts.len(), both.more), (MAX_HOSTS, 4));
    }

    #[test]
    fn model_sees_some_hosts_and_a_count_of_others() {
        assert_eq!(EgressAttempts::default().line(), None);
        let contact = |host: &str, refused| EgressAttempt { host: host.to_owned(), refused };
        let mut contacts = EgressAttempts { hosts: vec![contact("a.test", false), contact("b.test", true)], more: 0 };
        assert_eq!(contacts.line().as_deref(), Some("[network: a.test, b.test (refused)]"));
        let mut data = json!({});
        contacts.add_to(&mut data);
        assert_eq!(
            data,
            json!({"contacts": [{"host": "a.test", "refused": false}, {"host": "b.test", "refused": true}]})
        );
        contacts.hosts = (0..12).map(|number| contact(&format!("{number}.test"), false)).collect();
        contacts.more = 3;
        contacts.add_to(&mut data);
        assert_eq!(data["more_contacts"], 3);
        assert!(contacts.line().is_some_and(|line| line.ends_with("9.test and 5 more]")));
    }
}

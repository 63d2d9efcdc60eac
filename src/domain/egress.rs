//! Network access of commands: a proxy checks every address that a command asks for and lists the attempts.

use serde::Serialize;
use serde_json::{Value, json};

/// The model is told of so many hosts by name; a person sees the whole list.
const TOLD: usize = 10;

/// A host that a command tried to reach.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, utoipa::ToSchema)]
pub struct EgressAttempt {
    /// `name`, or `name:port` where the port is not that of the web.
    pub host: String,
    /// It was not connected: a private address, another port than those of the web, no such name, or no network at that time.
    pub refused: bool,
}

/// The hosts that a command tried to reach.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EgressAttempts {
    /// Each once, in order of name.
    pub hosts: Vec<EgressAttempt>,
    /// Attempts to reach hosts for which the list had no room.
    pub more: u64,
}

impl EgressAttempts {
    pub fn is_empty(&self) -> bool {
        self.hosts.is_empty() && self.more == 0
    }

    /// Adds them to what a view shows of a call: `contacts`, and `more_contacts` where some are not listed.
    pub fn add_to(&self, data: &mut Value) {
        if self.is_empty() {
            return;
        }
        data["contacts"] = json!(self.hosts);
        if self.more > 0 {
            data["more_contacts"] = json!(self.more);
        }
    }

    /// A short line for the model; none without attempts.
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
    /// A grant for one command. Dropping it closes the connections that the command opened.
    fn issue(&self) -> Box<dyn EgressGrant>;
}

/// The right of one command to use the proxy.
pub trait EgressGrant: Send + Sync {
    /// The only port of the loopback interface the command may connect to.
    fn port(&self) -> u16;

    /// The proxy's address with the credentials of this grant, as `HTTP_PROXY` has it.
    fn proxy(&self) -> String;

    /// Closes all connections and refuses new ones until [`EgressGrant::resume`].
    fn suspend(&self);

    /// Accepts the credentials again.
    fn resume(&self);

    /// The attempts since the last call of this function.
    fn take_attempts(&self) -> EgressAttempts;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_is_told_of_some_hosts_and_how_many_more() {
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

//! The way to a server: the lines of a program, or HTTP.

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::connection::{Connection, RequestError, RequestLimits};
use super::elicitation::Elicitor;
use super::era::Era;
use super::listening::Announcements;
use super::message::Request;
use super::remote::Remote;
use super::uses::Use;
use crate::tools::LiveOutput;

pub enum Link {
    Program(Connection),
    Remote(Box<Remote>),
}

impl Link {
    pub fn era(&self) -> Era {
        match self {
            Self::Program(connection) => connection.era,
            Self::Remote(remote) => remote.era,
        }
    }

    pub fn is_open(&self) -> bool {
        match self {
            Self::Program(connection) => connection.is_open(),
            Self::Remote(remote) => remote.is_open(),
        }
    }

    /// Keeps it from being closed as idle.
    pub fn begin_use(&self) -> Use {
        match self {
            Self::Program(connection) => connection.begin_use(),
            Self::Remote(remote) => remote.begin_use(),
        }
    }

    /// Returns whether arguments travel in headers, too.
    pub fn mirrors_arguments(&self) -> bool {
        matches!(self, Self::Remote(remote) if remote.mirrors_arguments())
    }

    /// Ends it, and waits until no process is left.
    pub async fn closed(&self) {
        match self {
            Self::Program(connection) => connection.closed().await,
            Self::Remote(remote) => remote.close(),
        }
    }

    fn announcements(&self) -> &Announcements {
        match self {
            Self::Program(connection) => connection.announcements(),
            Self::Remote(remote) => &remote.announcements,
        }
    }

    /// Returns whether the server has said since the last call that a list of it changed.
    pub fn take_list_changed(&self) -> bool {
        self.announcements().take_list_changed()
    }

    /// Takes what the server says that it can.
    pub fn note_capabilities(&self, capabilities: &Value) {
        self.announcements().note_capabilities(capabilities);
    }

    pub fn has_resources(&self) -> bool {
        self.announcements().has_resources()
    }

    pub async fn notify(&self, method: &str, params: Value) {
        match self {
            Self::Program(connection) => connection.notify(method, params).await,
            Self::Remote(remote) => remote.notify(method, params).await,
        }
    }

    /// Sends a request and waits for its result. Nobody answers what the server asks meanwhile.
    ///
    /// # Errors
    /// Returns an error if the server refuses, does not answer in time, or is gone.
    pub async fn request(
        &self,
        request: (&str, Value),
        limits: &RequestLimits,
        stop: (&CancellationToken, &LiveOutput),
    ) -> Result<Value, RequestError> {
        match self {
            Self::Program(connection) => connection.request(request.into(), limits, stop, None).await,
            Self::Remote(remote) => remote.request(request.into(), limits, stop, None).await,
        }
    }

    /// Like [`Link::request`], with somebody who answers what the server asks meanwhile.
    ///
    /// # Errors
    /// Same as [`Link::request`].
    pub async fn request_eliciting(
        &self,
        request: Request<'_>,
        limits: &RequestLimits,
        stop: (&CancellationToken, &LiveOutput),
        elicitor: &Elicitor<'_>,
    ) -> Result<Value, RequestError> {
        match self {
            Self::Program(connection) => connection.request(request, limits, stop, Some(elicitor)).await,
            Self::Remote(remote) => remote.request(request, limits, stop, Some(elicitor)).await,
        }
    }
}

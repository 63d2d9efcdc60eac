//! Whether a provider answers: what the last real request or check of its address had as a result. In memory only.

use std::sync::{Arc, Mutex, PoisonError};

use super::error::ProviderError;
use crate::clock;
use crate::domain::ErrorParams;

/// What is known of one provider. Cheap to clone; all clones show the same.
#[derive(Clone, Debug, Default)]
pub struct HealthLog(Arc<Mutex<Option<Health>>>);

/// The result of the last request.
#[derive(Clone, Debug, PartialEq)]
pub struct Health {
    pub state: HealthState,
    /// When it got into this state, in seconds since 1970.
    pub since: f64,
    /// Why it does not answer.
    pub problem: Option<Problem>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HealthState {
    /// It answered.
    Ready,
    Unreachable,
    /// It does not accept the key, or the account has no credit.
    Refused,
    /// It answered with something that is no answer.
    Error,
}

/// An error without the request it belongs to.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    pub code: &'static str,
    pub message: String,
    pub params: ErrorParams,
}

impl HealthLog {
    /// Records the result of a request.
    pub fn record<T>(&self, result: &Result<T, ProviderError>) {
        let state = result.as_ref().map_or_else(state_of, |_| HealthState::Ready);
        let problem = result.as_ref().err().filter(|_| state != HealthState::Ready).map(|error| Problem {
            code: error.code(),
            message: error.to_string(),
            params: error.params(),
        });
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let since = known.as_ref().filter(|known| known.state == state).map_or_else(clock::now, |known| known.since);
        *known = Some(Health { state, since, problem });
    }

    /// Returns the result of the last request; `None` before the first one.
    pub fn last(&self) -> Option<Health> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Returns what an error says about the provider. One that concerns only the request shows that the provider answers.
fn state_of(error: &ProviderError) -> HealthState {
    match error {
        ProviderError::Auth { .. } | ProviderError::Quota { .. } => HealthState::Refused,
        ProviderError::Unreachable { .. } | ProviderError::Timeout { .. } | ProviderError::Interrupted { .. } => {
            HealthState::Unreachable
        }
        ProviderError::BadStream { .. } | ProviderError::Server { .. } | ProviderError::Empty { .. } => {
            HealthState::Error
        }
        ProviderError::ModelNotFound { .. }
        | ProviderError::ContextOverflow { .. }
        | ProviderError::RateLimited { .. }
        | ProviderError::Refused { .. } => HealthState::Ready,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_result_decides_and_time_is_that_of_the_change() {
        let log = HealthLog::default();
        assert_eq!(log.last(), None);
        let quota = || Err::<(), _>(ProviderError::Quota { provider: "P".to_owned(), provider_message: String::new() });
        log.record(&quota());
        let first = log.last().unwrap();
        assert_eq!((first.state, first.problem.unwrap().code), (HealthState::Refused, "quota"));
        log.record(&quota());
        assert_eq!(log.last().unwrap().since, first.since);
        log.clone().record(&Ok(()));
        let now = log.last().unwrap();
        assert_eq!((now.state, now.problem), (HealthState::Ready, None));
        log.record(&Err::<(), _>(ProviderError::ContextOverflow { limit: None }));
        assert_eq!(log.last().unwrap().state, HealthState::Ready, "it answers");
    }
}

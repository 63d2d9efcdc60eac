//! Decides whether and when a failed attempt is repeated. It is asked only before anything was shown.

use std::time::Duration;

use super::error::{ConnectionFailure, ProviderError};

/// Longest wait that a provider may ask for; beyond it the person is told instead.
const LONGEST: Duration = Duration::from_secs(60);
/// Waits before the first, second and third retry, before jitter.
const BACKOFF: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(3), Duration::from_secs(9)];
/// Keeps a `Retry-After: 0` from becoming a busy loop.
const SHORTEST: Duration = Duration::from_millis(100);

/// Counts the retries of one turn.
#[derive(Debug, Default)]
pub(super) struct Retries {
    used: usize,
}

impl Retries {
    /// How long to wait before trying again; `None`: give up and tell.
    pub fn after(&mut self, error: &ProviderError) -> Option<Duration> {
        if self.used >= allowed(error) {
            return None;
        }
        let backoff = *BACKOFF.get(self.used)?;
        let wait = match told(error) {
            Some(told) if told > LONGEST => return None,
            Some(told) => told.max(SHORTEST),
            None => backoff.mul_f64(jitter()).max(SHORTEST),
        };
        self.used += 1;
        Some(wait)
    }
}

/// Retries an error may have. A provider that was silent for its whole time, or said nothing, gets one more chance: three
/// would keep a person waiting for minutes.
fn allowed(error: &ProviderError) -> usize {
    match error {
        ProviderError::RateLimited { .. } | ProviderError::Interrupted { .. } => BACKOFF.len(),
        ProviderError::Server { status, .. } => match status {
            408 | 500 | 502 | 503 | 504 | 520..=524 | 529 => BACKOFF.len(),
            _ => 0,
        },
        ProviderError::Unreachable { trouble, .. } if trouble.passes() => match trouble {
            // Each attempt already waited long.
            ConnectionFailure::ConnectTimeout => 1,
            ConnectionFailure::BadAddress(_)
            | ConnectionFailure::Dns
            | ConnectionFailure::Refused
            | ConnectionFailure::Tls(_)
            | ConnectionFailure::Redirected(_)
            | ConnectionFailure::NoSuchPath
            | ConnectionFailure::NotAnApi
            | ConnectionFailure::Other(_) => BACKOFF.len(),
        },
        ProviderError::Timeout { .. } | ProviderError::Empty { .. } => 1,
        ProviderError::Unreachable { .. }
        | ProviderError::Auth { .. }
        | ProviderError::Quota { .. }
        | ProviderError::ModelNotFound { .. }
        | ProviderError::ContextOverflow { .. }
        | ProviderError::BadStream { .. }
        | ProviderError::Refused { .. } => 0,
    }
}

fn told(error: &ProviderError) -> Option<Duration> {
    match error {
        ProviderError::RateLimited { after, .. } | ProviderError::Server { after, .. } => *after,
        ProviderError::Auth { .. }
        | ProviderError::Quota { .. }
        | ProviderError::ModelNotFound { .. }
        | ProviderError::ContextOverflow { .. }
        | ProviderError::Unreachable { .. }
        | ProviderError::Timeout { .. }
        | ProviderError::Interrupted { .. }
        | ProviderError::BadStream { .. }
        | ProviderError::Refused { .. }
        | ProviderError::Empty { .. } => None,
    }
}

/// 0.8 to 1.2, so that many clients do not come back in the same moment.
fn jitter() -> f64 {
    let random = crate::clock::new_secret();
    let part = random.get(..8).and_then(|hex| u32::from_str_radix(hex, 16).ok()).unwrap_or(u32::MAX / 2);
    0.8 + 0.4 * f64::from(part) / f64::from(u32::MAX)
}

/// What `Retry-After` (RFC 9110, 10.2.3: seconds or a date) or `retry-after-ms` says; `None` where it says nothing
/// readable. `now` is Unix seconds.
pub(super) fn retry_after(headers: &reqwest::header::HeaderMap, now: f64) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let seconds = match text("retry-after-ms").and_then(|ms| ms.parse::<f64>().ok()) {
        Some(ms) => ms / 1000.0,
        None => {
            let value = text("retry-after")?;
            match value.parse::<f64>() {
                Ok(seconds) => seconds,
                Err(_) => jiff::fmt::rfc2822::parse(value).ok()?.timestamp().as_second() as f64 - now,
            }
        }
    };
    if seconds.is_finite() { Duration::try_from_secs_f64(seconds.max(0.0)).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

    fn header(name: &'static str, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(HeaderName::from_static(name), HeaderValue::from_str(value).unwrap())])
    }

    #[test]
    fn retry_after_accepts_seconds_or_date() {
        // 1994-11-06 08:49:37 UTC
        let now = 784_111_777.0;
        let after = |value| retry_after(&header("retry-after", value), now);
        assert_eq!(after("7"), Some(Duration::from_secs(7)));
        assert_eq!(after("1.5"), Some(Duration::from_millis(1500)));
        assert_eq!(after("Sun, 06 Nov 1994 08:49:57 GMT"), Some(Duration::from_secs(20)));
        assert_eq!(after("Sun, 06 Nov 1994 08:00:00 GMT"), Some(Duration::ZERO));
        assert_eq!(after("-5"), Some(Duration::ZERO));
        for garbage in ["soon", "", "NaN", "inf", "1e400", "2 minutes"] {
            assert_eq!(after(garbage), None, "{garbage:?}");
        }
        assert_eq!(retry_after(&header("retry-after-ms", "250"), now), Some(Duration::from_millis(250)));
        assert_eq!(retry_after(&HeaderMap::new(), now), None);
    }

    #[test]
    fn three_retries_that_wait_longer_each_time() {
        let error = ProviderError::Server { provider: "x".into(), status: 503, words: String::new(), after: None };
        let mut retries = Retries::default();
        for expected in [1.0, 3.0, 9.0] {
            let wait = retries.after(&error).unwrap().as_secs_f64();
            assert!((expected * 0.79..=expected * 1.21).contains(&wait), "{wait}");
        }
        assert_eq!(retries.after(&error), None);
    }

    #[test]
    fn a_wait_that_is_too_long_is_told_instead() {
        let limited =
            |seconds| ProviderError::RateLimited { provider: "x".into(), after: Some(Duration::from_secs(seconds)) };
        assert_eq!(Retries::default().after(&limited(60)), Some(Duration::from_secs(60)));
        assert_eq!(Retries::default().after(&limited(61)), None);
        assert_eq!(Retries::default().after(&limited(0)), Some(SHORTEST));
    }
}

//! Decides whether and when a failed attempt is retried. Used only before any output was shown.

use std::time::Duration;

use super::error::{ConnectionFailure, ProviderError};

/// Longest wait that a provider may ask for; a longer one fails the turn, and the error names the wait.
const MAX_WAIT: Duration = Duration::from_secs(60);
/// Waits before the first, second and third retry, before jitter.
const BACKOFF: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(3), Duration::from_secs(9)];
/// Shortest wait: prevents a busy loop on `Retry-After: 0`.
const MIN_WAIT: Duration = Duration::from_millis(100);

/// Counts the retries of one turn.
#[derive(Debug, Default)]
pub(super) struct Retries {
    used: usize,
}

impl Retries {
    /// Returns how long to wait before the next retry; `None` to give up and return the error.
    pub fn after(&mut self, error: &ProviderError) -> Option<Duration> {
        if self.used >= allowed(error) {
            return None;
        }
        let backoff = *BACKOFF.get(self.used)?;
        let wait = match retry_after_of(error) {
            Some(requested) if requested > MAX_WAIT => return None,
            Some(requested) => requested.max(MIN_WAIT),
            None => backoff.mul_f64(jitter()).max(MIN_WAIT),
        };
        self.used += 1;
        Some(wait)
    }
}

/// Returns how many retries an error allows. A timeout or an empty answer is retried once: three retries would keep a
/// person waiting for minutes.
fn allowed(error: &ProviderError) -> usize {
    match error {
        ProviderError::RateLimited { .. } | ProviderError::Interrupted { .. } => BACKOFF.len(),
        ProviderError::Server { status, .. } => match status {
            408 | 500 | 502 | 503 | 504 | 520..=524 | 529 => BACKOFF.len(),
            _ => 0,
        },
        ProviderError::Unreachable { trouble, .. } if trouble.is_transient() => match trouble {
            // Each attempt already takes the whole connect timeout.
            ConnectionFailure::ConnectTimeout => 1,
            ConnectionFailure::BadAddress(_)
            | ConnectionFailure::Dns
            | ConnectionFailure::Refused
            | ConnectionFailure::Tls(_)
            | ConnectionFailure::Redirected(_)
            | ConnectionFailure::NoSuchPath
            | ConnectionFailure::NotAnApi
            | ConnectionFailure::Other(_)
            | ConnectionFailure::Undisclosed(_) => BACKOFF.len(),
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

fn retry_after_of(error: &ProviderError) -> Option<Duration> {
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

/// Returns a random factor from 0.8 to 1.2, so that many clients do not retry at the same moment.
fn jitter() -> f64 {
    let random = crate::clock::new_secret();
    let part = random.get(..8).and_then(|hex| u32::from_str_radix(hex, 16).ok()).unwrap_or(u32::MAX / 2);
    0.8 + 0.4 * f64::from(part) / f64::from(u32::MAX)
}

/// Parses `retry-after-ms` or `Retry-After` (RFC 9110, 10.2.3: seconds or a date); `None` if neither is readable. `now`
/// is in Unix seconds.
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
    fn three_retries_back_off_exponentially() {
        let error =
            ProviderError::Server { provider: "x".into(), status: 503, provider_message: String::new(), after: None };
        let mut retries = Retries::default();
        for expected in [1.0, 3.0, 9.0] {
            let wait = retries.after(&error).unwrap().as_secs_f64();
            assert!((expected * 0.79..=expected * 1.21).contains(&wait), "{wait}");
        }
        assert_eq!(retries.after(&error), None);
    }

    #[test]
    fn too_long_wait_is_reported() {
        let limited =
            |seconds| ProviderError::RateLimited { provider: "x".into(), after: Some(Duration::from_secs(seconds)) };
        assert_eq!(Retries::default().after(&limited(60)), Some(Duration::from_secs(60)));
        assert_eq!(Retries::default().after(&limited(61)), None);
        assert_eq!(Retries::default().after(&limited(0)), Some(MIN_WAIT));
    }
}

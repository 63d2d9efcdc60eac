//! The only place that reads the clock or generates random names.

use std::time::{SystemTime, UNIX_EPOCH};

use sha2::{Digest, Sha256};

/// Returns the Unix time in seconds.
pub fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

/// Returns a new sortable id (UUID v7). It reveals its creation time, so use it as a name and never as a secret.
pub fn new_id() -> String {
    uuid::Uuid::now_v7().to_string()
}

/// Returns 256 unguessable bits in hexadecimal.
pub fn new_secret() -> String {
    // A random UUID has 122 such bits, so three of them are hashed.
    let random: Vec<u8> = (0..3).flat_map(|_| uuid::Uuid::new_v4().into_bytes()).collect();
    base16ct::lower::encode_string(&Sha256::digest(random))
}

/// Returns a Unix time in seconds as RFC 3339: `2026-11-22T10:42:00Z`.
pub fn rfc3339(seconds: f64) -> String {
    jiff::Timestamp::from_second(seconds as i64).unwrap_or_default().to_string()
}

/// Returns the local time as `2026-11-21 22:24:44`, for records that people read.
pub fn local_time() -> String {
    jiff::Zoned::now().strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// Returns the UTC time as `20261121T222444.123Z`, which sorts by time and is a plain file name.
pub fn stamp() -> String {
    jiff::Timestamp::now().strftime("%Y%m%dT%H%M%S.%3fZ").to_string()
}

/// Returns the Unix time in seconds of a [`stamp`], ignoring anything after it; `None` for anything else.
pub fn time_of(stamp: &str) -> Option<f64> {
    let (time, _) = stamp.split_once('Z')?;
    let time = jiff::civil::DateTime::strptime("%Y%m%dT%H%M%S%.f", time).ok()?;
    let time = time.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp();
    Some(time.as_millisecond() as f64 / 1e3)
}

/// Returns the UTC date of a Unix time in seconds; 1970-01-01 if the time is not valid.
pub fn date(seconds: f64) -> jiff::civil::Date {
    let time = jiff::Timestamp::from_second(seconds as i64).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    time.to_zoned(jiff::tz::TimeZone::UTC).date()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn day_ends_at_midnight() {
        assert_eq!(date(1_795_305_599.9), jiff::civil::date(2026, 11, 21));
        assert_eq!(date(1_795_305_600.0), jiff::civil::date(2026, 11, 22));
        let first = jiff::civil::date(1970, 1, 1);
        assert_eq!((date(f64::NAN), date(f64::INFINITY)), (first, first));
    }

    #[test]
    fn timestamp_gives_its_time() {
        assert_eq!(time_of("20261121T222444.123Z"), Some(1_795_299_884.123));
        assert_eq!(time_of("20261121T222444.123Z00"), time_of("20261121T222444.123Z"));
        assert!((time_of(&stamp()).unwrap() - now()).abs() < 5.0);
        for odd in ["", "Z", "0001", "20261321T222444.123Z", "20261121T222444.123"] {
            assert_eq!(time_of(odd), None, "{odd}");
        }
    }
}

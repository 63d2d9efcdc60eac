//! The one place that reads the clock or makes a random name.

use std::time::{SystemTime, UNIX_EPOCH};

use sha2::{Digest, Sha256};

/// Unix time in seconds.
pub fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

/// A new sortable id (UUID v7): shows its creation time, so it names things and guards nothing.
pub fn new_id() -> String {
    uuid::Uuid::now_v7().to_string()
}

/// 256 unguessable bits in hexadecimal.
pub fn new_secret() -> String {
    // A random UUID has 122 such bits: three of them, condensed.
    let random: Vec<u8> = (0..3).flat_map(|_| uuid::Uuid::new_v4().into_bytes()).collect();
    Sha256::digest(random).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// UTC as `20261121T222444.123Z`: sorts by time and is a plain file name.
pub fn stamp() -> String {
    jiff::Timestamp::now().strftime("%Y%m%dT%H%M%S.%3fZ").to_string()
}

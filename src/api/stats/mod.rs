//! Statistics as the NanoClaw document defines them, in its envelope.

pub mod csv;
pub mod own_limits;
pub mod tokens;

//! What a certificate says about itself: since when and until when it is valid, whom it names and who issued it. A reader of
//! just these fields of X.509 (RFC 5280) in DER; whether a certificate can be trusted is for clients to check.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// The fields of a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fields<'a> {
    /// Unix seconds.
    pub valid_from: i64,
    /// Unix seconds.
    pub valid_until: i64,
    /// The encoded name of the issuer.
    pub issuer: &'a [u8],
    /// The encoded name of the holder.
    pub subject: &'a [u8],
}

/// Tags of DER.
const SEQUENCE: u8 = 0x30;
const VERSION: u8 = 0xa0;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

/// Returns the fields of a certificate in DER; `None` if it is none.
pub fn fields(der: &[u8]) -> Option<Fields<'_>> {
    let mut rest = content(der, SEQUENCE)?;
    rest = content(rest, SEQUENCE)?;
    let first = element(rest)?;
    if first.tag == VERSION {
        rest = first.rest;
    }
    let serial_number = element(rest)?;
    let algorithm = element(serial_number.rest)?;
    let issuer = element(algorithm.rest)?;
    let validity = element(issuer.rest)?;
    let subject = element(validity.rest)?;
    let [from, until] = {
        let from = element(validity.content)?;
        [from, element(from.rest)?]
    };
    Some(Fields {
        valid_from: seconds(from)?,
        valid_until: seconds(until)?,
        issuer: issuer.content,
        subject: subject.content,
    })
}

#[derive(Clone, Copy)]
struct Element<'a> {
    tag: u8,
    content: &'a [u8],
    /// What follows the element.
    rest: &'a [u8],
}

fn element(from: &[u8]) -> Option<Element<'_>> {
    let (&[tag, short], after) = from.split_first_chunk()?;
    let (length, after) = match short {
        ..=0x7f => (usize::from(short), after),
        0x81..=0x84 => {
            let (bytes, after) = after.split_at_checked(usize::from(short & 0x7f))?;
            (bytes.iter().fold(0, |length, &byte| length << 8 | usize::from(byte)), after)
        }
        _ => return None,
    };
    let (content, rest) = after.split_at_checked(length)?;
    Some(Element { tag, content, rest })
}

fn content(from: &[u8], tag: u8) -> Option<&[u8]> {
    element(from).filter(|element| element.tag == tag).map(|element| element.content)
}

/// Returns a time in Unix seconds. Years with two digits are those from 1950 to 2049.
fn seconds(time: Element<'_>) -> Option<i64> {
    let text = std::str::from_utf8(time.content).ok()?.strip_suffix('Z')?;
    let text = match time.tag {
        UTC_TIME if text.len() == 12 => format!("{}{text}", if *text.as_bytes().first()? < b'5' { "20" } else { "19" }),
        GENERALIZED_TIME => text.to_owned(),
        _ => return None,
    };
    let time = DateTime::strptime("%Y%m%d%H%M%S", text).ok()?;
    // "No expiry" (99991231235959Z, RFC 5280) is beyond what a timestamp can hold.
    Some(time.to_zoned(TimeZone::UTC).map_or(jiff::Timestamp::MAX, |time| time.timestamp()).as_second())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Encodes an element.
    fn der(tag: u8, content: &[u8]) -> Vec<u8> {
        let length = match content.len() {
            short @ ..=0x7f => vec![u8::try_from(short).unwrap()],
            long => [&[0x82][..], &u16::try_from(long).unwrap().to_be_bytes()].concat(),
        };
        [&[tag][..], &length, content].concat()
    }

    fn certificate(version: bool, validity: &[u8]) -> Vec<u8> {
        let version = if version { der(VERSION, &[2, 1, 2]) } else { Vec::new() };
        let inner = [
            version,
            der(2, &[1; 200]),
            der(SEQUENCE, b"algorithm"),
            der(SEQUENCE, b"issuer"),
            der(SEQUENCE, validity),
            der(SEQUENCE, b"subject"),
            der(SEQUENCE, b"key"),
        ]
        .concat();
        der(SEQUENCE, &[der(SEQUENCE, &inner), der(SEQUENCE, b"algorithm"), der(3, b"signature")].concat())
    }

    #[test]
    fn times_and_names_are_read() {
        let times = [der(UTC_TIME, b"490101000000Z"), der(GENERALIZED_TIME, b"20500101000001Z")].concat();
        for version in [true, false] {
            let whole = certificate(version, &times);
            let read = fields(&whole).unwrap();
            assert_eq!((read.valid_from, read.valid_until), (2_493_072_000, 2_524_608_001));
            assert_eq!((read.issuer, read.subject), (&b"issuer"[..], &b"subject"[..]));
        }
        let old = certificate(true, &[der(UTC_TIME, b"500101000000Z"), der(UTC_TIME, b"991231235959Z")].concat());
        assert_eq!(fields(&old).unwrap().valid_until, 946_684_799);
        let endless = [der(UTC_TIME, b"500101000000Z"), der(GENERALIZED_TIME, b"99991231235959Z")].concat();
        assert!(fields(&certificate(true, &endless)).unwrap().valid_until > 253_000_000_000);
    }

    #[test]
    fn damaged_certificate_has_no_fields() {
        let times = [der(UTC_TIME, b"490101000000Z"), der(UTC_TIME, b"490101000000Z")].concat();
        let whole = certificate(true, &times);
        for end in 0..whole.len() {
            assert_eq!(fields(&whole[..end]), None, "{end}");
        }
        for odd in [&b"4901010000Z"[..], b"490101000000", b"49010100000xZ", b"491301000000Z", b"\xff90101000000Z"] {
            let times = [der(UTC_TIME, odd), der(UTC_TIME, odd)].concat();
            assert_eq!(fields(&certificate(true, &times)), None, "{odd:?}");
        }
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 0xff;
            let _ = fields(&damaged);
        }
    }
}

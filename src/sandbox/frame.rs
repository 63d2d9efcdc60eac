//! The protocol between the server and a helper: frames of a tag and two parts. The server sends a request and gets one
//! reply.
//!
//! Neither side allocates memory for a length before the bytes arrive, and every length has a limit.

use std::io::{self, Read, Write};

/// Length of a header in bytes: the tag, and the lengths of both parts as little-endian 32-bit numbers.
pub const HEADER_SIZE: usize = 9;
/// Maximum size of both parts of a frame in bytes: enough for a file of 10 MB, or a text of 8 MB with its title.
pub const MAX_FRAME_SIZE: usize = 12 << 20;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    pub tag: u8,
    pub first: Vec<u8>,
    pub second: Vec<u8>,
}

/// The header of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHeader {
    pub tag: u8,
    pub first: usize,
    pub second: usize,
}

impl FrameHeader {
    /// Parses a header; `None` if the frame is too large.
    pub fn parse(bytes: [u8; HEADER_SIZE]) -> Option<Self> {
        let [tag, a, b, c, d, e, f, g, h] = bytes;
        let [first, second] = [[a, b, c, d], [e, f, g, h]].map(|length| u32::from_le_bytes(length) as usize);
        first.checked_add(second).filter(|all| *all <= MAX_FRAME_SIZE).map(|_| Self { tag, first, second })
    }
}

impl Frame {
    /// Returns the header of the frame; `None` if the frame is too large.
    pub fn header(&self) -> Option<[u8; HEADER_SIZE]> {
        let lengths = [&self.first, &self.second].map(|part| u32::try_from(part.len()).map(u32::to_le_bytes));
        let [Ok([a, b, c, d]), Ok([e, f, g, h])] = lengths else { return None };
        let header = [self.tag, a, b, c, d, e, f, g, h];
        FrameHeader::parse(header).map(|_| header)
    }

    /// Reads the next frame; `None` at the end of the stream.
    ///
    /// # Errors
    /// Returns an error if the stream ends within a frame, or if a frame is too large.
    pub fn read(from: &mut impl Read) -> io::Result<Option<Self>> {
        let mut header = [0; HEADER_SIZE];
        if from.read(&mut header[..1])? == 0 {
            return Ok(None);
        }
        from.read_exact(&mut header[1..])?;
        let FrameHeader { tag, first, second } = FrameHeader::parse(header).ok_or(io::ErrorKind::InvalidData)?;
        let mut part = |length: usize| {
            let mut bytes = Vec::new();
            from.take(length as u64).read_to_end(&mut bytes)?;
            if bytes.len() < length { Err(io::Error::from(io::ErrorKind::UnexpectedEof)) } else { Ok(bytes) }
        };
        Ok(Some(Self { tag, first: part(first)?, second: part(second)? }))
    }

    /// Writes the frame.
    ///
    /// # Errors
    /// Returns an error if the frame is too large, or if the other side does not read.
    pub fn write(&self, to: &mut impl Write) -> io::Result<()> {
        to.write_all(&self.header().ok_or(io::ErrorKind::InvalidData)?)?;
        to.write_all(&self.first)?;
        to.write_all(&self.second)?;
        to.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn frames_round_trip(
            frames in prop::collection::vec((any::<u8>(), prop::collection::vec(any::<u8>(), 0..300), prop::collection::vec(any::<u8>(), 0..300)), 0..5),
        ) {
            let frames: Vec<Frame> = frames.into_iter().map(|(tag, first, second)| Frame { tag, first, second }).collect();
            let mut sent = Vec::new();
            frames.iter().for_each(|frame| frame.write(&mut sent).unwrap());
            let mut from = sent.as_slice();
            for frame in &frames {
                let read = Frame::read(&mut from).unwrap();
                prop_assert_eq!(read.as_ref(), Some(frame));
            }
            prop_assert!(Frame::read(&mut from).unwrap().is_none());
        }

        #[test]
        fn truncated_stream_is_an_error(
            first in prop::collection::vec(any::<u8>(), 0..40),
            second in prop::collection::vec(any::<u8>(), 1..40),
            cut in 0usize..88,
        ) {
            let mut sent = Vec::new();
            Frame { tag: 7, first, second }.write(&mut sent).unwrap();
            let cut = 1 + cut % (sent.len() - 1);
            prop_assert!(Frame::read(&mut &sent[..cut]).is_err());
        }

        #[test]
        fn any_bytes_are_frames_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut from = bytes.as_slice();
            while let Ok(Some(frame)) = Frame::read(&mut from) {
                prop_assert!(frame.first.len() + frame.second.len() <= bytes.len());
            }
        }
    }

    #[test]
    fn oversized_frame_is_refused_before_allocation() {
        let header = |first: u32, second: u32| {
            let mut header = vec![1];
            header.extend(first.to_le_bytes());
            header.extend(second.to_le_bytes());
            header.try_into().unwrap()
        };
        assert!(FrameHeader::parse(header(MAX_FRAME_SIZE as u32, 0)).is_some());
        for (first, second) in [(MAX_FRAME_SIZE as u32, 1), (u32::MAX, u32::MAX), (0, u32::MAX)] {
            assert_eq!(FrameHeader::parse(header(first, second)), None);
        }
        let large = Frame { tag: 1, first: vec![0; MAX_FRAME_SIZE], second: vec![0] };
        assert!(large.write(&mut Vec::new()).is_err());
    }
}

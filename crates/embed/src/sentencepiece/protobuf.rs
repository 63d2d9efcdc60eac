//! Reads the subset of the protocol buffer wire format that a SentencePiece model uses.

/// The value of a field.
pub(super) enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
    /// A 32-bit word, such as a score.
    Word([u8; 4]),
}

/// Iterator over the fields of a message, in order. It yields `None` for the first malformed field and then ends.
pub(super) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub fn of(message: &'a [u8]) -> Self {
        Self { rest: message }
    }

    fn read(&mut self) -> Option<(u64, Value<'a>)> {
        let tag = self.number()?;
        let value = match tag & 7 {
            0 => Value::Number(self.number()?),
            // The model has no relevant 64-bit fields, so their bytes are not decoded.
            1 => self.take(8).map(Value::Bytes)?,
            2 => {
                let length = usize::try_from(self.number()?).ok()?;
                Value::Bytes(self.take(length)?)
            }
            5 => Value::Word(*self.take(4)?.first_chunk()?),
            _ => return None,
        };
        Some((tag >> 3, value))
    }

    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.rest.split_first()?;
            self.rest = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(taken)
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Option<(u64, Value<'a>)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.read();
        if field.is_none() {
            self.rest = &[];
        }
        Some(field)
    }
}

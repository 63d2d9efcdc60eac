//! Shows what a call writes while it runs.

use tokio::sync::mpsc::Sender;

use crate::domain::Mask;

/// Shows the output of a running call. A text that cannot be shown at once is dropped, because the answer has it too.
#[derive(Clone, Default)]
pub struct LiveOutput {
    to: Option<Sender<String>>,
    mask: Mask,
}

impl LiveOutput {
    pub fn new(to: Sender<String>) -> Self {
        Self { to: Some(to), mask: Mask::default() }
    }

    /// Returns this output with these values hidden in each text.
    #[must_use]
    pub fn masked(&self, mask: Mask) -> Self {
        Self { to: self.to.clone(), mask }
    }

    pub fn show(&self, text: String) {
        if let Some(to) = &self.to {
            let text = self.mask.text(&text).into_owned();
            // See above.
            let _ = to.try_send(text);
        }
    }
}

//! Shows what a call writes while it runs.

use std::sync::Arc;

use tokio::sync::mpsc::Sender;

type Hide = Arc<dyn Fn(&str) -> String + Send + Sync>;

/// Shows the output of a running call. A text that cannot be shown at once is dropped, because the answer has it too.
#[derive(Clone, Default)]
pub struct LiveOutput {
    to: Option<Sender<String>>,
    hide: Option<Hide>,
}

impl LiveOutput {
    pub fn new(to: Sender<String>) -> Self {
        Self { to: Some(to), hide: None }
    }

    /// Returns this output with something hidden in each text, as it is hidden when the text is shown.
    #[must_use]
    pub fn hiding(&self, hide: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        Self { to: self.to.clone(), hide: Some(Arc::new(hide)) }
    }

    pub fn show(&self, text: String) {
        if let Some(to) = &self.to {
            let text = self.hide.as_ref().map_or_else(|| text.clone(), |hide| hide(&text));
            // See above.
            let _ = to.try_send(text);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn what_becomes_a_secret_later_is_hidden_then() {
        let secret = Arc::new(Mutex::new("first".to_owned()));
        let (to, mut shown) = tokio::sync::mpsc::channel(4);
        let known = secret.clone();
        let live = LiveOutput::new(to).hiding(move |text| text.replace(&*known.lock().unwrap(), "[hidden]"));
        live.show("first second".to_owned());
        *secret.lock().unwrap() = "second".to_owned();
        live.show("first second".to_owned());
        assert_eq!([shown.try_recv().unwrap(), shown.try_recv().unwrap()], ["[hidden] second", "first [hidden]"]);
    }
}

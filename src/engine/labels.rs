//! The labels that a person gives to sessions.

use super::{Engine, EngineError};
use crate::domain::SessionId;

/// Maximum number of labels of a session, and of characters of a label.
pub const MOST_LABELS: usize = 20;
pub const LABEL_CHARACTERS: usize = 40;

/// Why labels are refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LabelRefused {
    #[error("a label has 1 to {LABEL_CHARACTERS} characters and no control characters")]
    BadName,
    #[error("a session has at most {MOST_LABELS} labels")]
    TooMany,
}

impl Engine {
    /// Gives a session these labels instead of those it has. Returns them as they are kept: without surrounding space and
    /// repetitions.
    ///
    /// # Errors
    /// Returns an error if there is no such session, or if a label is not valid.
    pub async fn label(&self, id: &SessionId, labels: Vec<String>) -> Result<Vec<String>, EngineError> {
        self.view(id).await?;
        let kept = checked(labels)?;
        self.tenant.log.set_labels(self.tenant.claim, id, kept.clone()).await?;
        self.list_changed(id);
        Ok(kept)
    }
}

fn checked(labels: Vec<String>) -> Result<Vec<String>, LabelRefused> {
    let mut kept: Vec<String> = Vec::new();
    for label in labels {
        let label = label.trim();
        if label.is_empty() || label.chars().count() > LABEL_CHARACTERS || label.chars().any(char::is_control) {
            return Err(LabelRefused::BadName);
        }
        if !kept.iter().any(|known| known == label) {
            kept.push(label.to_owned());
        }
    }
    if kept.len() > MOST_LABELS { Err(LabelRefused::TooMany) } else { Ok(kept) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_trimmed_and_kept_once() {
        let checked = |labels: &[&str]| checked(labels.iter().map(|label| (*label).to_owned()).collect());
        assert_eq!(checked(&[" work ", "工作", "work"]), Ok(vec!["work".to_owned(), "工作".to_owned()]));
        for bad in ["", "  ", "a\nb", &"x".repeat(LABEL_CHARACTERS + 1)] {
            assert_eq!(checked(&[bad]), Err(LabelRefused::BadName), "{bad:?}");
        }
        let many: Vec<String> = (0..=MOST_LABELS).map(|n| n.to_string()).collect();
        assert_eq!(checked(&many.iter().map(String::as_str).collect::<Vec<_>>()), Err(LabelRefused::TooMany));
    }
}

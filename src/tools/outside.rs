//! Text from outside: what strangers may have written, and from where a call brings it into the conversation.

use super::PreparedCall;
use crate::domain::defang::defang;
use crate::domain::{Taint, ToolAnswer};

/// What is known of the text from outside that a call handles, whatever its answer turns out to be. An answer may name
/// its sources more precisely ([`ToolAnswer::sources`]).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OutsideText {
    /// Sources of such text in the answer.
    pub brings: Vec<Taint>,
    /// Source of such text in the state that the tool keeps for the session, whatever this call requests; included in
    /// `brings`.
    pub holds: Option<Taint>,
    pub files: FilesRead,
}

/// The files of the home that a call reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FilesRead {
    /// Only those that its arguments name; the answer says which of them nobody has trusted.
    #[default]
    Named,
    /// Any that commands may read: what a process has read is unknown.
    Any,
}

impl OutsideText {
    /// Returns the text from one source, or none.
    pub fn from_source(source: Option<Taint>) -> Self {
        Self { brings: source.into_iter().collect(), ..Self::default() }
    }

    /// Returns all sources of text from outside in an answer of the call, however the call ended.
    pub fn sources(&self, answer: &ToolAnswer) -> Vec<Taint> {
        // An untrusted file is in addition to what the call brings anyway; any other source replaces it.
        let replaces = |source: &Taint| !matches!(source, Taint::Skill(_));
        let known = if answer.sources.iter().any(replaces) { &[] } else { self.brings.as_slice() };
        answer.sources.iter().chain(known).cloned().collect()
    }
}

/// Makes a tool's text safe for the model: text that strangers may have written cannot imitate the structure of the
/// conversation.
pub fn sanitize_for_model(answer: ToolAnswer, call: &dyn PreparedCall) -> ToolAnswer {
    match call.outside_text().sources(&answer).iter().any(Taint::is_strong) {
        true => ToolAnswer { text: defang(&answer.text).into_owned(), ..answer },
        false => answer,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(name: &str) -> Taint {
        Taint::Document(name.to_owned())
    }

    #[test]
    fn answer_names_sources_more_precisely() {
        let search = OutsideText::from_source(Some(document("knowledge/")));
        let nothing_found = ToolAnswer::done("", "");
        assert_eq!(search.sources(&nothing_found), [document("knowledge/")]);
        let found = nothing_found.with_source(document("knowledge/a.md"));
        assert_eq!(search.sources(&found), [document("knowledge/a.md")]);
        assert_eq!(OutsideText::default().sources(&found), [document("knowledge/a.md")]);
    }

    #[test]
    fn untrusted_file_does_not_hide_what_a_command_brings() {
        let command = OutsideText { brings: vec![Taint::Command, Taint::Output], ..OutsideText::default() };
        let skill = Taint::Skill("skills/a/SKILL.md".to_owned());
        let answer = ToolAnswer::done("", "").with_source(skill.clone());
        assert_eq!(command.sources(&answer), [skill, Taint::Command, Taint::Output]);
    }
}

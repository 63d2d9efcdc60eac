//! Records what a call changes whose process changes the project's folder itself: the folder is looked at before and after.
//! For `python_repl`, commands in the background, and every command where there is no overlay.

use super::captured::{Captures, CommandChanges, shown};
use crate::domain::SessionId;
use crate::store::{LeftOutReason, MAX_INDEXED, Observation, ObservedCall, ObservedChanges, RecordGap, StoreError};

/// Maximum number of entries of one kind that the model is told of.
const TOLD: usize = 5;

/// The call that changes are recorded for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallKey {
    pub session: SessionId,
    pub call_id: String,
}

/// A call under way whose changes are observed. If it is dropped, because nobody waits for the call any more, what has
/// changed by then is recorded in the background.
pub struct ObservedRun {
    captures: Captures,
    call: CallKey,
    /// Absent if the folder has too many entries to be looked at, and once the changes are recorded.
    observation: Option<Observation>,
}

impl ObservedRun {
    /// Looks at the folder before a call, and copies what is new in it.
    ///
    /// # Errors
    /// Returns an error if this fails, because the disk is full for example: then the call must not run.
    pub async fn begin(captures: &Captures, call: &CallKey) -> Result<Self, StoreError> {
        let (home, root) = (captures.home().clone(), captures.root().clone());
        let observed = tokio::task::spawn_blocking(move || {
            // A linked folder may have gone, or been replaced.
            home.check_working(&root)?;
            home.observe(&root)
        });
        let observed = observed.await;
        let observation = observed.unwrap_or(Err(StoreError::ShutDown))?;
        Ok(Self { captures: captures.clone(), call: call.clone(), observation })
    }

    /// Looks at the folder after the call, and records what has changed.
    pub async fn end(mut self) -> CommandChanges {
        match self.observation.take() {
            None => CommandChanges::observed(ObservedChanges { is_too_large: true, ..ObservedChanges::default() }),
            Some(observation) => match self.captures.record(observed_call(&self.call, observation)).await {
                Ok(observed) => CommandChanges::observed(observed),
                Err(error) => CommandChanges::not_recorded(&error),
            },
        }
    }
}

impl Drop for ObservedRun {
    fn drop(&mut self) {
        let (Some(observation), Ok(runtime)) = (self.observation.take(), tokio::runtime::Handle::try_current()) else {
            return;
        };
        let (captures, call) = (self.captures.clone(), observed_call(&self.call, observation));
        runtime.spawn(async move {
            if let Err(error) = captures.record(call).await {
                tracing::warn!(%error, "what a stopped call changed was not recorded");
            }
        });
    }
}

fn observed_call(CallKey { session, call_id }: &CallKey, observation: Observation) -> ObservedCall {
    ObservedCall { session: session.clone(), call_id: call_id.clone(), observation }
}

/// Tells the model what an undo will not restore.
pub(super) fn notes(observed: &ObservedChanges) -> Vec<String> {
    if observed.is_too_large {
        return vec![format!(
            "what it changed is not recorded and cannot be undone: the project has more than {MAX_INDEXED} files, folders \
             and links"
        )];
    }
    let gap = observed.gap.map(|gap| {
        let why = match gap {
            RecordGap::DiskFull => "the disk is full, so what files were could not be kept".to_owned(),
            RecordGap::TooManyFiles => {
                format!("there are more than {MAX_INDEXED} files, folders and links now, and not all were looked at")
            }
        };
        format!("only a part of what it changed can be undone: {why}")
    });
    let mut notes: Vec<String> = gap.into_iter().collect();
    let mut tell = |what: &str, all: Vec<String>| {
        notes.extend(all.iter().take(TOLD).map(|one| format!("{what}: {one}")));
        if all.len() > TOLD {
            notes.push(format!("{what}: {} more", all.len() - TOLD));
        }
    };
    let not_kept = observed.not_kept.iter().map(|(path, size)| {
        format!("{} ({size} bytes): it was too large to be kept, or there was too much to keep", shown(path))
    });
    tell("cannot be undone", not_kept.collect());
    let left_out = observed.left_out.iter().map(|left| {
        let why = match left.why {
            LeftOutReason::Special => "pipes, sockets and devices are not recorded",
            LeftOutReason::OtherFileSystem => "it is on another file system",
            LeftOutReason::Unreadable => "it cannot be read",
            LeftOutReason::TooDeep => "its path is too long",
        };
        format!("{}: {why}", shown(&left.path))
    });
    tell("changes there are not recorded", left_out.collect());
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::LeftOut;

    #[test]
    fn model_is_told_what_is_not_recorded_and_why() {
        let large = ObservedChanges { is_too_large: true, ..ObservedChanges::default() };
        assert!(notes(&large)[0].contains("not recorded") && notes(&large)[0].contains("more than 50000 files"));
        let cut = ObservedChanges { gap: Some(RecordGap::TooManyFiles), ..ObservedChanges::default() };
        assert!(
            notes(&cut)[0].starts_with("only a part of what it changed can be undone: there are more than 50000 files")
        );
        let left_out = |name: &str, why| LeftOut { path: name.into(), why };
        let observed = ObservedChanges {
            not_kept: (0..7).map(|n| (format!("{n}\u{202e}").into(), 70 << 20)).collect(),
            left_out: vec![left_out("mount", LeftOutReason::OtherFileSystem), left_out("pipe", LeftOutReason::Special)],
            ..ObservedChanges::default()
        };
        let notes = notes(&observed);
        assert_eq!(notes.len(), 8, "{notes:?}");
        assert!(notes[0].starts_with("cannot be undone: 0\\u202e (73400320 bytes): "), "{}", notes[0]);
        assert_eq!((notes[5].as_str(), notes[6].contains("mount")), ("cannot be undone: 2 more", true));
        assert!(super::notes(&ObservedChanges::default()).is_empty());
    }
}

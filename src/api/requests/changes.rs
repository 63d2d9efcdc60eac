//! Compares a request with the one before it: what changed and by whom, and how long their common prefix is, which
//! decides what a provider's prompt cache can reuse.

use std::collections::HashMap;
use std::time::Duration;

use serde::Serialize;
use similar::TextDiff;

use crate::api::requests::sent::{Opened, Origin, Piece};
use crate::domain::{ChangedBy, SentPart};

/// Time limit of a diff. After it, the diff is still correct, but may be longer than necessary.
const DIFF_TIMEOUT: Duration = Duration::from_millis(200);
/// Maximum length of one file's diff in the response, in characters.
const MAX_DIFF_CHARACTERS: usize = 20_000;

#[derive(Serialize, utoipa::ToSchema)]
pub struct Difference {
    /// Name of the previous request.
    before: String,
    /// Length of the common prefix of both requests, in bytes, in the order of the pieces; `kept_tokens` is the same in
    /// tokens.
    #[serde(rename = "kept_bytes")]
    common_prefix_bytes: usize,
    #[serde(rename = "kept_tokens")]
    common_prefix_tokens: usize,
    /// The first difference; null if this request only continues the previous one.
    #[serde(rename = "parted")]
    first_difference: Option<FirstDifference>,
    changes: Vec<RequestChange>,
}

/// The first position at which two requests differ.
#[derive(Serialize, utoipa::ToSchema)]
pub struct FirstDifference {
    /// 0-based index of this request's piece; the number of pieces if the previous request continues after this one
    /// ends.
    piece: usize,
    /// Byte offset in that piece.
    byte: usize,
    /// 1-based line of the piece's file; null if the piece has no file.
    line: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    Added,
    Removed,
    Changed,
    /// The same text at another position, because of a change before it.
    Moved,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct RequestChange {
    how: ChangeKind,
    /// Null for the model and the other settings of the request.
    origin: Option<Origin>,
    label: String,
    file: Option<String>,
    /// Number of pieces in this change: several messages are one change.
    count: usize,
    /// Difference in bytes; negative if the request became shorter.
    bytes: i64,
    /// Who wrote the version of the file in this request; null if this server did not see the write.
    by: Option<ChangedBy>,
    /// When the file was changed, in Unix seconds.
    at: Option<f64>,
    /// The change as a unified diff by lines; null for messages and for moved pieces.
    diff: Option<String>,
}

pub(in crate::api) fn compare(name: &str, (before, now): (&Opened<'_>, &Opened<'_>), pieces: &[Piece]) -> Difference {
    let old = before.pieces();
    let mut changes = settings(before, now);
    // Every model has its own prompt cache.
    let same_model = before.request.model == now.request.model && before.request.provider == now.request.provider;
    let first_difference = if same_model {
        find_first_difference(&old, pieces)
    } else {
        Some(FirstDifference { piece: 0, byte: 0, line: None })
    };
    let (common_prefix_bytes, common_prefix_tokens) = common_prefix(pieces, first_difference.as_ref(), now);
    changes.extend(tools(before, now));
    changes.extend(parts(before, now));
    changes.extend(messages(&old, pieces));
    Difference { before: name.to_owned(), common_prefix_bytes, common_prefix_tokens, first_difference, changes }
}

/// Yields the pieces that have text, with their indexes. A piece without text is not part of what the model reads.
fn with_text(pieces: &[Piece]) -> impl Iterator<Item = (usize, &str)> {
    pieces.iter().enumerate().filter_map(|(at, piece)| Some((at, piece.text.as_deref().filter(|t| !t.is_empty())?)))
}

fn find_first_difference(old: &[Piece], new: &[Piece]) -> Option<FirstDifference> {
    let mut now = with_text(new);
    for (_, old) in with_text(old) {
        let Some((piece, text)) = now.next() else {
            return Some(FirstDifference { piece: new.len(), byte: 0, line: None });
        };
        if old == text {
            continue;
        }
        let byte = old.bytes().zip(text.bytes()).take_while(|(a, b)| a == b).count();
        let byte = (0..=byte).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
        let first = new[piece].lines.map(|(first, _)| first);
        // The first line of a part is its label.
        let within = u32::try_from(text[..byte].matches('\n').count()).unwrap_or(u32::MAX);
        return Some(FirstDifference { piece, byte, line: first.map(|first| first + within.saturating_sub(1)) });
    }
    None
}

fn common_prefix(pieces: &[Piece], first_difference: Option<&FirstDifference>, now: &Opened<'_>) -> (usize, usize) {
    let (end, byte) = first_difference.map_or((pieces.len(), 0), |first| (first.piece, first.byte));
    let whole = &pieces[..end.min(pieces.len())];
    let begun = pieces.get(end).and_then(|piece| piece.text.as_deref()?.get(..byte)).unwrap_or_default();
    let bytes = whole.iter().map(|piece| piece.bytes).sum::<usize>() + begun.len();
    (bytes, whole.iter().map(|piece| piece.tokens).sum::<usize>() + now.count(begun))
}

fn change(how: ChangeKind, label: &str) -> RequestChange {
    RequestChange {
        how,
        origin: None,
        label: label.to_owned(),
        file: None,
        count: 1,
        bytes: 0,
        by: None,
        at: None,
        diff: None,
    }
}

/// Compares provider, model and the other fields of the body except messages and tools.
fn settings(before: &Opened<'_>, now: &Opened<'_>) -> Vec<RequestChange> {
    let (old, new) = (&before.request, &now.request);
    let shown = |request: &crate::domain::SentRequest| {
        let mut text = format!("provider: {}\n", request.provider);
        for (field, value) in request.body.as_object().into_iter().flatten() {
            if !matches!(field.as_str(), "messages" | "tools") {
                text.push_str(&format!("{field}: {value}\n"));
            }
        }
        text
    };
    let (old, new) = (shown(old), shown(new));
    if old == new {
        Vec::new()
    } else {
        vec![RequestChange { diff: Some(diff(&old, &new)), ..change(ChangeKind::Changed, "") }]
    }
}

fn tools(before: &Opened<'_>, now: &Opened<'_>) -> Option<RequestChange> {
    let (old, new) = (&before.request.tools, &now.request.tools);
    let how = match (old, new) {
        (old, new) if old == new => return None,
        (None, _) => ChangeKind::Added,
        (_, None) => ChangeKind::Removed,
        (Some(_), Some(_)) => ChangeKind::Changed,
    };
    let text = |of: &Opened<'_>, hash: &Option<String>| {
        let text = hash.as_deref().and_then(|hash| of.text(hash)).unwrap_or_default();
        let value: Option<serde_json::Value> = serde_json::from_str(&text).ok();
        let lines = value.and_then(|value| serde_json::to_string_pretty(&value).ok()).unwrap_or_default();
        (text.len(), lines)
    };
    let ((old_bytes, old), (new_bytes, new)) = (text(before, old), text(now, new));
    let bytes = signed(new_bytes) - signed(old_bytes);
    Some(RequestChange { origin: Some(Origin::Tools), bytes, diff: Some(diff(&old, &new)), ..change(how, "") })
}

/// Compares the parts of the system prompt, matched by label and file.
fn parts(before: &Opened<'_>, now: &Opened<'_>) -> Vec<RequestChange> {
    let key = |part: &SentPart| (part.label.clone(), part.file.clone());
    let place = |parts: &[SentPart], of: &Opened<'_>| {
        let mut at = 0;
        let mut places = HashMap::new();
        for part in parts {
            let text = part.text.as_deref().and_then(|hash| of.text(hash)).unwrap_or_default();
            places.insert(key(part), at);
            at += text.len();
        }
        places
    };
    let (old, new) = (&before.request.system, &now.request.system);
    let (old_places, new_places) = (place(old, before), place(new, now));
    let known: HashMap<_, &SentPart> = old.iter().map(|part| (key(part), part)).collect();
    let mut changes = Vec::new();
    for part in new {
        let was = known.get(&key(part)).copied();
        let how = match (was.and_then(|was| was.text.as_ref()), &part.text) {
            (None, None) => continue,
            (Some(old), Some(new)) if old == new => {
                if old_places.get(&key(part)) == new_places.get(&key(part)) {
                    continue;
                }
                ChangeKind::Moved
            }
            (None, _) => ChangeKind::Added,
            (_, None) => ChangeKind::Removed,
            (Some(_), Some(_)) => ChangeKind::Changed,
        };
        let text = |of: &Opened<'_>, part: Option<&SentPart>| {
            part.and_then(|part| part.text.as_deref()).and_then(|hash| of.text(hash)).unwrap_or_default()
        };
        let (old, new) = (text(before, was), text(now, Some(part)));
        let origin = Origin::of_part(part);
        let moved = how == ChangeKind::Moved;
        changes.push(RequestChange {
            origin: Some(origin),
            file: part.file.clone(),
            bytes: signed(new.len()) - signed(old.len()),
            by: part.by.filter(|_| !moved),
            at: part.modified.filter(|_| !moved),
            diff: (!moved).then(|| diff(&old, &new)),
            ..change(how, &part.label)
        });
    }
    changes
}

/// Lists added and removed messages, counted by origin.
fn messages(old: &[Piece], new: &[Piece]) -> Vec<RequestChange> {
    let is_message = |piece: &&Piece| piece.origin.is_message();
    let tally = |pieces: &[Piece]| {
        let mut counts: HashMap<String, usize> = HashMap::new();
        for piece in pieces.iter().filter(is_message) {
            *counts.entry(piece.text.clone().unwrap_or_default()).or_default() += 1;
        }
        counts
    };
    let mut changes = gone(old, tally(new), ChangeKind::Removed);
    changes.extend(gone(new, tally(old), ChangeKind::Added));
    changes
}

/// Returns the messages of `pieces` that are not among `others`.
fn gone(pieces: &[Piece], mut others: HashMap<String, usize>, how: ChangeKind) -> Vec<RequestChange> {
    let mut changes: Vec<RequestChange> = Vec::new();
    for piece in pieces {
        if !piece.origin.is_message() {
            continue;
        }
        let left = others.entry(piece.text.clone().unwrap_or_default()).or_default();
        if *left > 0 {
            *left -= 1;
            continue;
        }
        let bytes = if how == ChangeKind::Removed { -signed(piece.bytes) } else { signed(piece.bytes) };
        match changes.iter_mut().find(|change| change.origin == Some(piece.origin)) {
            Some(known) => {
                known.count += 1;
                known.bytes += bytes;
            }
            None => changes.push(RequestChange { origin: Some(piece.origin), bytes, ..change(how, "") }),
        }
    }
    changes
}

fn signed(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn diff(old: &str, new: &str) -> String {
    let diff = TextDiff::configure().timeout(DIFF_TIMEOUT).diff_lines(old, new);
    let text = diff.unified_diff().context_radius(2).missing_newline_hint(false).to_string();
    match text.char_indices().nth(MAX_DIFF_CHARACTERS) {
        Some((end, _)) => format!("{}\n…", &text[..end]),
        None => text,
    }
}
